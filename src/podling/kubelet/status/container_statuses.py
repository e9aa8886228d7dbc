"""Container statuses: the state of each container, the one before, and the restart count. Pure.

The runtime's view comes first. Where the runtime has no container (not created yet, or gone) the status
held before fills in, so that a restart count never falls and a container that vanished while running
is shown as ended rather than as never started. The worker remembers why a container could not be
started; this is shown as the waiting state (``kubelet_pods.go`` convertToAPIContainerStatuses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from podling.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    LinuxContainerUser,
    Pod,
    VolumeMount,
    VolumeMountStatus,
)
from podling.clock import seconds_precision
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind
from podling.kubelet.restart_policy import should_start
from podling.kubelet.status.phase import RESTARTING_ALL_CONTAINERS
from podling.kubelet.status.probe_view import ProbeView
from podling.machinery.pods import is_sidecar
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState as RuntimeState
from podling.runtime.signals import signal_name

STATUS_UNKNOWN = "ContainerStatusUnknown"
USUAL_STOP_SIGNAL = "SIGTERM"
NOT_LOCATED = "The container could not be located when the pod was terminated"
REMOVED_IN_PLACE = "The container is removed because RestartAllContainers in place"
COMPLETED_UNSEEN = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)
VANISHED = "The container could not be located when the pod was deleted.  The container used to be Running"


class WaitingReason(Struct, frozen=True):
    """The reason why a container does not run, and its message."""

    reason: str
    message: str = ""


class ContainerFacts(Struct, frozen=True):
    """The input of statuses besides spec, runtime and probes.

    ``waiting`` is by container name, ``messages`` (termination messages) by container id. ``prefix``
    is the runtime's name in container ids.
    """

    prefix: str
    waiting: Mapping[str, WaitingReason] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    restarting_all: bool = False
    stale: frozenset[str] = frozenset()
    """The running containers that do not have their granted resources yet."""


def container_statuses(
    pod: Pod,
    kind: ContainerKind,
    containers: Sequence[Container],
    observed: PodObservation,
    probes: ProbeView,
    before: Mapping[str, ContainerStatus],
    facts: ContainerFacts,
) -> tuple[ContainerStatus, ...]:
    """Return the statuses of one of the pod's three lists of containers, in the list's order."""
    result = []
    for container in containers:
        instances = observed.instances(container.name)
        if instances:
            status = _from_runtime(container, instances, before.get(container.name), facts)
        else:
            status = _from_memory(pod, kind, container, before.get(container.name), facts)
            status = _completed_if_lost(pod, kind, container, status, observed, facts)
        status = _waiting(pod, kind, container, status, observed, facts)
        status = _with_resources(kind, container, status, before.get(container.name), facts)
        result.append(_with_probes(kind, container, status, probes, observed))
    return tuple(result)


def _from_runtime(
    container: Container,
    instances: Sequence[Observed],
    before: ContainerStatus | None,
    facts: ContainerFacts,
) -> ContainerStatus:
    newest, container_id = instances[0], f"{facts.prefix}://{instances[0].id}"
    last = next((f for f in instances[1:] if f.state is RuntimeState.EXITED), None)
    if last is not None:
        last_state = ContainerState(terminated=_terminated(last, facts))
    elif before is None:
        last_state = ContainerState()
    elif before.state.terminated is not None and before.container_id != container_id:
        last_state = before.state
    else:
        last_state = before.last_state
    return ContainerStatus(
        name=container.name,
        container_id=container_id,
        image=newest.image or container.image or "",
        image_id=newest.image_ref,
        restart_count=_restarts(newest, before),
        state=_state(newest, before, facts),
        last_state=last_state,
        stop_signal=_stop_signal(container, newest),
        volume_mounts=_mounts(container),
        user=_user(newest),
    )


def _restarts(newest: Observed, before: ContainerStatus | None) -> int:
    """Return the restart count; the runtime may have lost earlier attempts."""
    if before is None or newest.attempt > before.restart_count:
        return newest.attempt
    lost = newest.state is RuntimeState.UNKNOWN and before.state.running is not None
    again = newest.state is RuntimeState.RUNNING and before.state.terminated is not None
    return before.restart_count + (lost or again)


def _stop_signal(container: Container, newest: Observed) -> str | None:
    """Return the container's stop signal, if pod or image set one other than the usual one."""
    if not newest.stop_signal:
        return None
    asked = container.lifecycle.stop_signal if container.lifecycle is not None else None
    name = signal_name(newest.stop_signal)
    return name if asked or name != USUAL_STOP_SIGNAL else None


def _with_resources(
    kind: ContainerKind,
    container: Container,
    status: ContainerStatus,
    before: ContainerStatus | None,
    facts: ContainerFacts,
) -> ContainerStatus:
    """Add the resources granted to the container, and those it has: until a resize is applied, the earlier.

    A container that does not run has what was granted. Upstream shows that once the runtime has the
    container; here all do, as a kubelet that restarts reads it from the status.
    """
    if kind is ContainerKind.EPHEMERAL:
        return status
    actual = container.resources
    is_stale = status.state.running is not None and container.name in facts.stale
    if is_stale and before is not None and before.resources is not None:
        actual = before.resources
    return structs.replace(status, allocated_resources=container.resources.requests, resources=actual)


def _state(newest: Observed, before: ContainerStatus | None, facts: ContainerFacts) -> ContainerState:
    if newest.state is RuntimeState.RUNNING:
        started = seconds_precision(newest.started_at) if newest.started_at else None
        return ContainerState(running=ContainerStateRunning(started_at=started))
    if newest.state is RuntimeState.EXITED:
        return ContainerState(terminated=_terminated(newest, facts))
    if newest.state is RuntimeState.UNKNOWN and before is not None and before.state.running is not None:
        lost = ContainerStateTerminated(reason=STATUS_UNKNOWN, message=NOT_LOCATED, exit_code=137)
        return ContainerState(terminated=lost)
    return ContainerState(waiting=ContainerStateWaiting())


def _terminated(ended: Observed, facts: ContainerFacts) -> ContainerStateTerminated:
    exit_code = ended.exit_code if ended.exit_code is not None else 137
    return ContainerStateTerminated(
        exit_code=exit_code,
        reason=ended.reason or ("Completed" if exit_code == 0 else "Error"),
        message=facts.messages.get(ended.id) or ended.message or "",
        started_at=seconds_precision(ended.started_at) if ended.started_at else None,
        finished_at=seconds_precision(ended.finished_at) if ended.finished_at else None,
        container_id=f"{facts.prefix}://{ended.id}",
    )


def default_waiting(pod: Pod) -> str:
    """Return the waiting reason of a container that has not been started yet."""
    return "PodInitializing" if pod.spec.init_containers else "ContainerCreating"


def _from_memory(
    pod: Pod,
    kind: ContainerKind,
    container: Container,
    before: ContainerStatus | None,
    facts: ContainerFacts,
) -> ContainerStatus:
    waiting = ContainerState(waiting=ContainerStateWaiting(reason=default_waiting(pod)))
    fresh = ContainerStatus(
        name=container.name, image=container.image or "", state=waiting, volume_mounts=_mounts(container)
    )
    if before is None:
        return fresh
    if facts.restarting_all and kind is not ContainerKind.EPHEMERAL:
        return _started_over(fresh, before)
    if before.state.terminated is not None:
        return before
    if before.state.running is None:
        return structs.replace(fresh, restart_count=before.restart_count, last_state=before.last_state)
    lost = ContainerStateTerminated(reason=STATUS_UNKNOWN, message=VANISHED, exit_code=137)
    if kind is ContainerKind.EPHEMERAL:
        return structs.replace(before, state=ContainerState(terminated=lost))
    deleting = pod.metadata.deletion_timestamp is not None
    return structs.replace(
        fresh,
        restart_count=before.restart_count + (0 if deleting else 1),
        last_state=ContainerState(terminated=lost),
    )


def _completed_if_lost(
    pod: Pod,
    kind: ContainerKind,
    container: Container,
    status: ContainerStatus,
    observed: PodObservation,
    facts: ContainerFacts,
) -> ContainerStatus:
    """Show an init container as completed of which no end is known, but which regular containers followed."""
    one_off = kind is ContainerKind.INIT and not is_sidecar(container)
    if not one_off or facts.restarting_all or status.state.waiting is None:
        return status
    if not any(_was_made(observed.newest(each.name)) for each in pod.spec.containers):
        return status
    ended = ContainerStateTerminated(reason="Completed", message=COMPLETED_UNSEEN, exit_code=0)
    return structs.replace(status, state=ContainerState(terminated=ended))


def _was_made(found: Observed | None) -> bool:
    return found is not None and found.state is not RuntimeState.UNKNOWN


def _started_over(fresh: ContainerStatus, before: ContainerStatus) -> ContainerStatus:
    """Return the status of a container removed by ``RestartAllContainers``, which will be created anew."""
    waiting = ContainerStateWaiting(reason=RESTARTING_ALL_CONTAINERS, message=REMOVED_IN_PLACE)
    ended = ContainerState(
        terminated=ContainerStateTerminated(
            reason=RESTARTING_ALL_CONTAINERS, message=REMOVED_IN_PLACE, exit_code=137
        )
    )
    first = before.state.waiting is None
    return structs.replace(
        fresh,
        restart_count=before.restart_count + first,
        last_state=ended if first else before.last_state,
        state=ContainerState(waiting=waiting),
    )


def _waiting(
    pod: Pod,
    kind: ContainerKind,
    container: Container,
    status: ContainerStatus,
    observed: PodObservation,
    facts: ContainerFacts,
) -> ContainerStatus:
    """Show why the container could not be started, if it is to be started."""
    cause = facts.waiting.get(container.name)
    newest = observed.newest(container.name)
    if cause is None or status.state.running is not None:
        return status
    ended_well = newest is not None and newest.state is RuntimeState.EXITED and newest.exit_code == 0
    if kind is ContainerKind.INIT and ended_well:
        return status  # upstream makes no difference between sidecars and other init containers here
    if kind is ContainerKind.EPHEMERAL and newest is not None:
        return status
    if not should_start(container, pod, newest):
        return status
    waiting = ContainerStateWaiting(reason=cause.reason, message=cause.message)
    last_state = status.last_state
    if status.state.terminated is not None:
        last_state = ContainerState(terminated=status.state.terminated)
    return structs.replace(status, state=ContainerState(waiting=waiting), last_state=last_state)


def _with_probes(
    kind: ContainerKind,
    container: Container,
    status: ContainerStatus,
    probes: ProbeView,
    observed: PodObservation,
) -> ContainerStatus:
    if kind is ContainerKind.EPHEMERAL:
        return status
    newest = observed.newest(container.name)
    running = status.state.running is not None and newest is not None
    container_id = newest.id if newest is not None else ""
    started = running and probes.started(container, container_id)
    if kind is ContainerKind.INIT and not is_sidecar(container):
        ended = status.state.terminated
        return structs.replace(status, ready=ended is not None and ended.exit_code == 0, started=started)
    return structs.replace(status, ready=running and probes.ready(container, container_id), started=started)


def _mounts(container: Container) -> tuple[VolumeMountStatus, ...]:
    return tuple(
        VolumeMountStatus(
            name=mount.name,
            mount_path=mount.mount_path,
            read_only=mount.read_only,
            recursive_read_only=_recursive_mode(mount) if mount.read_only else None,
        )
        for mount in container.volume_mounts
    )


def _recursive_mode(mount: VolumeMount) -> str:
    """Return the mode in effect: every runtime with real mounts can make them read-only recursively."""
    return "Enabled" if mount.recursive_read_only in ("Enabled", "IfPossible") else "Disabled"


def _user(observed: Observed) -> ContainerUser | None:
    if observed.user is None:
        return None
    uid, gid, groups = observed.user
    return ContainerUser(linux=LinuxContainerUser(uid=uid, gid=gid, supplemental_groups=groups))
