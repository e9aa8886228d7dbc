"""Progress of a pod's init containers, and the ones to start or kill next. Pure.

Regular init containers run one after another, each after the one before it succeeded. A sidecar lets
the next one start once it has started itself (its startup probe, if any, has succeeded), and then keeps
running. The list is read from its end: the last container found in the current sandbox shows how far the
pod got. Earlier ones may therefore be removed without running again
(``kuberuntime_container.go`` computeInitContainerActions).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.kubelet.labels import hash_changed
from podling.kubelet.observation import PodObservation
from podling.kubelet.restart_policy import restarts_after, restarts_when_killed
from podling.kubelet.status.probe_view import ProbeView
from podling.machinery.pods import is_sidecar
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState


class KillReason(Enum):
    """The reason for killing a container; decides which grace period applies."""

    LIVENESS = "liveness"
    STARTUP = "startup"
    DEFINITION = "definition"
    UNKNOWN_STATE = "unknown state"
    HOOK = "hook"
    POD = "pod"


class Kill(Struct, frozen=True):
    """One container to kill; ``message`` is the text of its ``Killing`` event."""

    container_id: str
    name: str
    message: str
    reason: KillReason


class InitPlan(Struct, frozen=True):
    """``failed``: the pod cannot be initialised any more. ``initialized``: regular containers may run."""

    initialized: bool
    failed: bool = False
    start: tuple[Container, ...] = ()
    kill: tuple[Kill, ...] = ()


@dataclass(slots=True)
class _Draft:
    """The plan while it is built, reading the list backwards."""

    initialized: bool
    reached: bool
    failed: bool
    start: list[int]
    kill: list[Kill]


def plan_init(
    pod: Pod, observed: PodObservation, probes: ProbeView, resized: frozenset[str] = frozenset()
) -> InitPlan:
    """Return the next steps for the init containers and sidecars of a pod with a usable sandbox."""
    containers = pod.spec.init_containers
    if not containers:
        return InitPlan(initialized=True)
    started = _any_regular_started(pod, observed)
    draft = _Draft(initialized=started, reached=started, failed=False, start=[], kill=[])
    for index in range(len(containers) - 1, -1, -1):
        container = containers[index]
        newest = observed.current(container.name)
        if newest is None:
            if draft.reached and is_sidecar(container):
                draft.start.append(index)
            continue
        if draft.reached and not is_sidecar(container):
            continue
        if is_sidecar(container):
            _plan_sidecar(container, index, newest, probes, draft, resized)
        else:
            _plan_init_container(pod, index, newest, draft)
        if draft.failed:
            return InitPlan(initialized=False, failed=True)
        if not draft.reached:
            _start_next(pod, index, newest, probes, draft)
            draft.reached = True
    if not draft.reached:
        draft.start.append(0)
    start = tuple(containers[index] for index in sorted(set(draft.start)))
    return InitPlan(draft.initialized, start=start, kill=tuple(draft.kill))


def _any_regular_started(pod: Pod, observed: PodObservation) -> bool:
    """Return whether a regular container was created in this sandbox, so the pod is initialized."""
    return any(observed.current(container.name) is not None for container in pod.spec.containers)


def _plan_sidecar(
    container: Container,
    index: int,
    newest: Observed,
    probes: ProbeView,
    draft: _Draft,
    resized: frozenset[str],
) -> None:
    if newest.state is not ContainerState.RUNNING:
        if newest.state is ContainerState.UNKNOWN:
            text = f"Init container {container.name} is in unknown state, try killing it before restart"
            draft.kill.append(Kill(newest.id, container.name, text, KillReason.UNKNOWN_STATE))
        draft.start.append(index)
        return
    message, reason = "", KillReason.LIVENESS
    if hash_changed(container, newest.annotations):
        message, reason = f"Init container {container.name} definition changed", KillReason.DEFINITION
    elif probes.failed_startup(newest.id):
        message, reason = f"Init container {container.name} failed startup probe", KillReason.STARTUP
    elif probes.started(container, newest.id) and probes.failed_liveness(newest.id):
        message = f"Init container {container.name} failed liveness probe"
    elif container.name in resized:
        message, reason = f"Init container {container.name} resize requires restart", KillReason.DEFINITION
    if message:
        draft.kill.append(Kill(newest.id, container.name, message, reason))
        draft.start.append(index)


def _plan_init_container(pod: Pod, index: int, newest: Observed, draft: _Draft) -> None:
    container = pod.spec.init_containers[index]
    if newest.state is ContainerState.RUNNING:
        return
    if newest.state is ContainerState.EXITED:
        exit_code = newest.exit_code or 0
        if exit_code == 0:
            return
        if not restarts_after(container, pod.spec, exit_code):
            draft.failed = True
            return
    elif newest.state is ContainerState.UNKNOWN:
        if not restarts_when_killed(container, pod.spec):
            draft.failed = True
            return
        text = f"Init container {container.name} is in unknown state, try killing it before restart"
        draft.kill.append(Kill(newest.id, container.name, text, KillReason.UNKNOWN_STATE))
    draft.start.append(index)


def _start_next(pod: Pod, index: int, newest: Observed, probes: ProbeView, draft: _Draft) -> None:
    """Start the container after the one at ``index`` if that one, the last reached, is done."""
    container = pod.spec.init_containers[index]
    if is_sidecar(container):
        # Also one that is about to be replaced has started: the others do not wait for it again.
        done = newest.state is ContainerState.RUNNING and probes.started(container, newest.id)
    else:
        done = newest.state is ContainerState.EXITED and newest.exit_code == 0
    if not done:
        return
    if index == len(pod.spec.init_containers) - 1:
        draft.initialized = True
    else:
        draft.start.append(index + 1)
