"""The plan for one pod: ``plan_pod`` compares spec and runtime and returns what to kill and start.

The plan is complete in itself. Carrying it out and planning again from the new observation leads step by
step to the pod of the spec; the plan for a pod that matches its spec is idle. Nothing is kept between plans
but the restart back-off, which is passed in.

Order of the decisions (``kuberuntime_manager.go`` computePodActions): is the sandbox usable; did a
container demand a restart of all; which ephemeral containers are new; how far did the init containers
get; then the regular containers. Sidecars never keep a pod running by themselves.

Pure.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import Container, Pod
from podling.kubelet.backoff import BackoffEntry, BackoffView, waits_until
from podling.kubelet.containers.init_actions import Kill, KillReason, plan_init
from podling.kubelet.labels import hash_changed
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ephemeral_containers
from podling.kubelet.restart_policy import (
    calls_for_restart_of_all,
    pod_restarts_on_failure,
    restarts_when_killed,
    should_start,
)
from podling.kubelet.status.probe_view import NO_PROBES, ProbeView
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState


class Held(Struct, frozen=True):
    """A container that has to wait before it may start again."""

    container: Container
    until: datetime
    seconds: float
    """The length of the back-off, as messages show it."""


class PodPlan(Struct, frozen=True):
    """The actions for one pod, in the order of the fields.

    ``kill_pod`` kills every container and sandbox; ``create_sandbox`` then makes a new one with number
    ``attempt``. Without ``create_sandbox`` the rest is empty: the pod is over.
    """

    kill_pod: bool = False
    reset_all: str = ""
    """The container whose end demands that all containers are killed at once, removed and restarted."""
    kill: tuple[Kill, ...] = ()
    create_sandbox: bool = False
    attempt: int = 0
    sandbox_id: str = ""
    start_ephemeral: tuple[Container, ...] = ()
    start_init: tuple[Container, ...] = ()
    start: tuple[Container, ...] = ()
    held: tuple[Held, ...] = ()

    @property
    def idle(self) -> bool:
        """Return whether there is nothing to do now."""
        return not (
            self.kill_pod
            or self.reset_all
            or self.kill
            or self.create_sandbox
            or self.start_ephemeral
            or self.start_init
            or self.start
        )

    @property
    def starts(self) -> tuple[Container, ...]:
        return (*self.start_ephemeral, *self.start_init, *self.start)

    @property
    def wake_at(self) -> datetime | None:
        """Return the moment at which the first held container may start."""
        return min((held.until for held in self.held), default=None)


def plan_pod(
    pod: Pod,
    observed: PodObservation,
    backoff: BackoffView,
    now: datetime,
    probes: ProbeView = NO_PROBES,
    resized: frozenset[str] = frozenset(),
) -> PodPlan:
    """Return the next steps for a pod that is to run; a pod that is to end is terminated instead.

    ``resized`` names the containers that must restart to get the resources granted to them.
    """
    changed, attempt, sandbox_id = sandbox_changed(pod, observed)
    if changed:
        return _hold_back(_plan_new_sandbox(pod, observed, attempt, sandbox_id), observed, backoff, now)
    plan = PodPlan(attempt=attempt, sandbox_id=sandbox_id)
    source = _restart_of_all(pod, observed)
    if source:
        return replace(plan, reset_all=source)
    known = {found.name for found in observed.containers if found.state is not ContainerState.CREATED}
    # Ephemeral containers run once, even if the runtime no longer lists them.
    known |= {found.name for found in pod.status.ephemeral_container_statuses if found.state.waiting is None}
    new = (found for found in ephemeral_containers(pod.spec) if found.name not in known)
    plan = replace(plan, start_ephemeral=tuple(new))

    init = plan_init(pod, observed, probes, resized)
    if init.failed:
        return replace(plan, kill_pod=True)
    plan = replace(plan, kill=(*superseded_containers(observed), *init.kill), start_init=init.start)
    if init.initialized:
        plan = _plan_regular(pod, observed, probes, plan, resized)
    return _hold_back(plan, observed, backoff, now)


def superseded_containers(observed: PodObservation) -> tuple[Kill, ...]:
    """Return running containers that have a successor: the runtime failed to list them for a while."""
    return tuple(
        Kill(found.id, found.name, f"Container {found.name} has been replaced", KillReason.UNKNOWN_STATE)
        for found in observed.running
        if observed.newest(found.name) is not found
    )


def sandbox_changed(pod: Pod, observed: PodObservation) -> tuple[bool, int, str]:
    """Return whether a new sandbox is needed, its attempt number, and the latest sandbox's id."""
    latest = observed.sandbox
    if latest is None:
        return True, 0, ""
    host_network = bool(pod.spec.host_network)
    if (
        len(observed.ready_sandboxes) > 1
        or not latest.ready
        or latest.host_network != host_network
        or (not host_network and not latest.ips)
    ):
        return True, latest.attempt + 1, latest.id
    return False, latest.attempt, latest.id


def _plan_new_sandbox(pod: Pod, observed: PodObservation, attempt: int, sandbox_id: str) -> PodPlan:
    """Plan to kill everything; a new sandbox follows if a container is left to run."""
    over = PodPlan(kill_pod=True, attempt=attempt, sandbox_id=sandbox_id)
    if not pod_restarts_on_failure(pod.spec) and attempt != 0 and observed.containers:
        return over
    to_start = tuple(
        container
        for container in pod.spec.containers
        if not (pod.spec.restart_policy == "OnFailure" and _succeeded(observed.newest(container.name)))
    )
    if not to_start and any(observed.newest(container.name) for container in pod.spec.containers):
        return over
    plan = replace(over, kill_pod=bool(observed.sandboxes), create_sandbox=True)
    if pod.spec.init_containers:
        return replace(plan, start_init=pod.spec.init_containers[:1])
    return replace(plan, start=to_start)


def _succeeded(observed: Observed | None) -> bool:
    return observed is not None and observed.state is ContainerState.EXITED and observed.exit_code == 0


def _restart_of_all(pod: Pod, observed: PodObservation) -> str:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if calls_for_restart_of_all(container, observed.current(container.name)):
            return container.name
    return ""


class _Verdict(Enum):
    KEEP = "keep"
    LEAVE = "leave"
    START = "start"


def _plan_regular(
    pod: Pod, observed: PodObservation, probes: ProbeView, plan: PodPlan, resized: frozenset[str]
) -> PodPlan:
    kept = False
    kills: list[Kill] = list(plan.kill)
    starts: list[Container] = []
    for container in pod.spec.containers:
        verdict, kill = _plan_one(pod, container, observed, probes, resized)
        kept = kept or verdict is _Verdict.KEEP
        if verdict is _Verdict.START:
            starts.append(container)
        if kill is not None:
            kills.append(kill)
    if not kept and not starts:
        # Sidecars must not keep a finished pod running, nor be restarted in one.
        return replace(plan, kill_pod=True, kill=(), start_init=(), start=(), start_ephemeral=())
    return replace(plan, kill=tuple(kills), start=tuple(starts))


def _plan_one(
    pod: Pod,
    container: Container,
    observed: PodObservation,
    probes: ProbeView,
    resized: frozenset[str],
) -> tuple[_Verdict, Kill | None]:
    newest = observed.newest(container.name)
    if newest is None or newest.state is not ContainerState.RUNNING:
        if not should_start(container, pod, newest):
            return _Verdict.LEAVE, None
        kill = None
        if newest is not None and newest.state is ContainerState.UNKNOWN:
            # It may still run: never start a second instance of one container.
            text = f"Container {container.name} is in unknown state, try killing it before restart"
            kill = Kill(newest.id, container.name, text, KillReason.UNKNOWN_STATE)
        return _Verdict.START, kill
    restarts = restarts_when_killed(container, pod.spec)
    if hash_changed(container, newest.annotations):
        message, reason = f"Container {container.name} definition changed", KillReason.DEFINITION
        restarts = True
    elif probes.failed_liveness(newest.id):
        message, reason = f"Container {container.name} failed liveness probe", KillReason.LIVENESS
    elif probes.failed_startup(newest.id):
        message, reason = f"Container {container.name} failed startup probe", KillReason.STARTUP
    elif container.name in resized:
        message, reason = f"Container {container.name} resize requires restart", KillReason.DEFINITION
        return _Verdict.START, Kill(newest.id, container.name, message, reason)
    else:
        return _Verdict.KEEP, None
    if restarts:
        return _Verdict.START, Kill(newest.id, container.name, f"{message}, will be restarted", reason)
    return _Verdict.LEAVE, Kill(newest.id, container.name, message, reason)


def _hold_back(plan: PodPlan, observed: PodObservation, backoff: BackoffView, now: datetime) -> PodPlan:
    """Take the containers that still have to wait out of the plan."""
    if not backoff:
        return plan
    held: list[Held] = []

    def free(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        able: list[Container] = []
        for container in containers:
            entry = backoff.get(container.name)
            if replaces_definition(container, observed):
                entry = None
            until = _held_until(entry, observed.newest_exited(container.name), now)
            if until is None or entry is None:
                able.append(container)
            else:
                held.append(Held(container, until, entry.seconds))
        return tuple(able)

    start_init, start = free(plan.start_init), free(plan.start)
    return replace(plan, start_init=start_init, start=start, held=tuple(held))


def replacements(plan: PodPlan) -> dict[str, Kill]:
    """Return the kills of running containers that are started anew with another definition, by name."""
    starts = {container.name for container in plan.starts}
    return {
        kill.name: kill for kill in plan.kill if kill.reason is KillReason.DEFINITION and kill.name in starts
    }


def replaces_definition(container: Container, observed: PodObservation) -> bool:
    """Return whether the container's newest instance was made from another definition.

    It starts at once: the wait between restarts is for containers that end by themselves. Upstream waits,
    if the same image ran in this pod before and the last container ended less than the back-off ago.
    """
    newest = observed.newest(container.name)
    return newest is not None and hash_changed(container, newest.annotations)


def _held_until(entry: BackoffEntry | None, ended: Observed | None, now: datetime) -> datetime | None:
    if entry is None or ended is None:
        return None
    # If the runtime lost the moment of the end, the back-off still applies to the crash loop.
    return waits_until(entry, ended.finished_at or entry.last_update, now)
