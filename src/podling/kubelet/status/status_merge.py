"""Merges a decided status with the API's: what may be sent now. Pure.

Four rules are Kubernetes' (``pkg/kubelet/status/status_manager.go`` mergePodStatus). Other components'
conditions stay as the API has them. A terminal phase is held back while containers may still run, so that no
controller counts a pod as over too early. A terminal phase in the API stays. A container that is shown as
ended for good is not shown as running again. (It may run: an init container runs once more in a new sandbox.
Its new end is then shown.) The fifth rule is ours: a pod that another client made not ready with a gate stays
so.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from podling.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
)
from podling.kubelet.restart_policy import RESTART_ALL_CONTAINERS
from podling.kubelet.status import conditions as rules
from podling.kubelet.status.container_statuses import NOT_LOCATED, STATUS_UNKNOWN
from podling.kubelet.status.phase import FAILED, SUCCEEDED, TERMINAL_PHASES
from podling.machinery.conditions import find
from podling.machinery.pods import is_sidecar, is_static


def merge_status(pod: Pod, decided: PodStatus, *, may_run: bool) -> PodStatus:
    """Return the status to send: ``decided`` over the API's status of ``pod``.

    ``may_run``: containers may still be running.
    """
    api = pod.status
    ends = decided.phase in TERMINAL_PHASES and api.phase not in TERMINAL_PHASES
    merged = decided
    if (ends and may_run) or api.phase in TERMINAL_PHASES:
        merged = structs.replace(merged, phase=api.phase, reason=api.reason, message=api.message)
    conditions = _merge_conditions(api.conditions, decided.conditions, with_disruption=ends and not may_run)
    conditions = _with_closed_gates(pod, conditions)
    if merged.phase in TERMINAL_PHASES:
        conditions = _not_ready(conditions, merged.phase or "")
    spec = pod.spec
    return structs.replace(
        merged,
        conditions=conditions,
        container_statuses=_not_alive_again(
            spec, spec.containers, api.container_statuses, merged.container_statuses
        ),
        init_container_statuses=_not_alive_again(
            spec, spec.init_containers, api.init_container_statuses, merged.init_container_statuses
        ),
        ephemeral_container_statuses=_not_alive_again(
            spec, (), api.ephemeral_container_statuses, merged.ephemeral_container_statuses
        ),
        start_time=api.start_time or merged.start_time,
        observed_generation=max(api.observed_generation, merged.observed_generation),
        qos_class=api.qos_class or merged.qos_class,
        nominated_node_name=api.nominated_node_name,
        resource_claim_statuses=api.resource_claim_statuses,
        resize=api.resize,
    )


def _not_alive_again(
    spec: PodSpec,
    containers: Iterable[Container],
    api: Iterable[ContainerStatus],
    decided: tuple[ContainerStatus, ...],
) -> tuple[ContainerStatus, ...]:
    """Keep containers as ended that the API shows as ended and that cannot run again."""
    ended = {found.name: found for found in api if found.state.terminated is not None}
    if not ended or any(_resets_all(container) for container in (*spec.containers, *spec.init_containers)):
        return decided
    by_name = {container.name: container for container in containers}
    return tuple(
        ended[found.name]
        if found.state.terminated is None
        and found.name in ended
        and not _may_live_again(spec, by_name.get(found.name), ended[found.name])
        else found
        for found in decided
    )


def _resets_all(container: Container) -> bool:
    return any(rule.action == RESTART_ALL_CONTAINERS for rule in container.restart_policy_rules)


def _may_live_again(spec: PodSpec, container: Container | None, ended: ContainerStatus) -> bool:
    if container is None:
        return False
    if is_sidecar(container) or container.restart_policy_rules:
        return True
    policy = spec.restart_policy or "Always"
    if container in spec.containers:
        policy = container.restart_policy or policy
    code = ended.state.terminated.exit_code if ended.state.terminated is not None else 0
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _merge_conditions(
    api: Iterable[PodCondition], decided: Iterable[PodCondition], *, with_disruption: bool
) -> tuple[PodCondition, ...]:
    own = [found for found in decided if found.type in rules.KUBELET_OWNED]
    disruption = find(decided, rules.DISRUPTION_TARGET)
    owned = rules.KUBELET_OWNED
    if find(own, rules.POD_READY_TO_START_CONTAINERS) is None:
        owned -= {rules.POD_READY_TO_START_CONTAINERS}  # the gate is off
    foreign = [found for found in api if found.type not in owned]
    if disruption is not None and with_disruption:
        held = find(foreign, rules.DISRUPTION_TARGET)
        if held is not None and held.status == disruption.status:
            disruption = structs.replace(disruption, last_transition_time=held.last_transition_time)
        foreign = [found for found in foreign if found is not held]
        own.insert(0, disruption)
    return (*foreign, *own)


def _with_closed_gates(pod: Pod, conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    """Keep a pod not ready that another client made so together with one of its readiness gates.

    The status may have been decided before the gate was closed: it would make the pod ready for a moment.
    """
    shown, decided = find(pod.status.conditions, rules.READY), find(conditions, rules.READY)
    if shown is None or shown.status == "True" or decided is None or decided.status != "True":
        return conditions
    implied = rules.ready_condition(pod.spec, conditions, PodCondition(type=rules.READY, status="True"))
    if implied.status == "True":
        return conditions
    return tuple(shown if each is decided else each for each in conditions)


def _not_ready(conditions: Iterable[PodCondition], phase: str) -> tuple[PodCondition, ...]:
    reason = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}[phase]
    return tuple(
        structs.replace(found, status="False", reason=reason, message="")
        if found.type in (rules.READY, rules.CONTAINERS_READY)
        else found
        for found in conditions
    )


def terminated_status(pod: Pod, status: PodStatus) -> PodStatus:
    """Return the last status of a pod that the kubelet has ended: no container in it may run.

    Containers without a known end are shown as ended with an unknown exit, and a pod that never got to a
    terminal phase has failed.
    """
    by_name = {found.name: found for found in status.container_statuses}
    if _has_initialized(pod, status):
        for container in pod.spec.containers:
            found = by_name.get(container.name)
            if found is not None and found.state.terminated is None:
                by_name[container.name] = _unaccounted(found)
    attempted = _attempted(status.init_container_statuses)
    init = tuple(
        _unaccounted(found) if number < attempted and found.state.terminated is None else found
        for number, found in enumerate(status.init_container_statuses)
    )
    phase = status.phase
    if phase not in TERMINAL_PHASES and not is_static(pod):
        phase = FAILED
    regular = tuple(by_name[found.name] for found in status.container_statuses)
    return structs.replace(status, container_statuses=regular, init_container_statuses=init, phase=phase)


def _pairs(
    containers: Iterable[Container], statuses: Iterable[ContainerStatus]
) -> list[tuple[Container, ContainerStatus]]:
    by_name = {container.name: container for container in containers}
    return [(by_name[found.name], found) for found in statuses if found.name in by_name]


def _has_initialized(pod: Pod, status: PodStatus) -> bool:
    """Return whether regular containers may have started, judging by the reported status.

    A pod without init containers counts as initialized (``hasPodInitialized``).
    """
    if not pod.spec.init_containers:
        return True
    if any(f.state.waiting is None or f.last_state.terminated for f in status.container_statuses):
        return True
    last = pod.spec.init_containers[-1:]
    for container, found in _pairs(last, status.init_container_statuses):
        if is_sidecar(container):
            return found.state.running is not None and bool(found.started)
        ends = (found.state.terminated, found.last_state.terminated)
        return any(end is not None and end.exit_code == 0 for end in ends)
    return False


def _attempted(statuses: tuple[ContainerStatus, ...]) -> int:
    """Return the number of init containers up to the last one that has started, at least the first one.

    Upstream: ``initializedContainers``.
    """
    started = (
        number
        for number, found in enumerate(statuses, start=1)
        if found.state.waiting is None or found.last_state.terminated is not None
    )
    return max(started, default=1)


def _unaccounted(status: ContainerStatus) -> ContainerStatus:
    ended = ContainerStateTerminated(reason=STATUS_UNKNOWN, message=NOT_LOCATED, exit_code=137)
    return structs.replace(status, state=ContainerState(terminated=ended), ready=False, started=False)
