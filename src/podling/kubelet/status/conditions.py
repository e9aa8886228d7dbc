"""The pod conditions that the kubelet owns (``pkg/kubelet/status/generate.go``). Pure.

Each function returns one condition without its transition time; ``with_transitions`` then copies times
from the conditions held before: a time changes only with the status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Container, ContainerStatus, PodCondition, PodSpec
from podling.kubelet.status.container_statuses import WaitingReason
from podling.kubelet.status.phase import FAILED, SUCCEEDED, TERMINAL_PHASES
from podling.machinery.conditions import transition_time
from podling.machinery.pods import is_sidecar

ALL_CONTAINERS_RESTARTING = "AllContainersRestarting"
CONTAINERS_READY = "ContainersReady"
DISRUPTION_TARGET = "DisruptionTarget"
IMAGE_CHANGE_PENDING = "podling.dev/ImageChangePending"
INITIALIZED = "Initialized"
POD_READY_TO_START_CONTAINERS = "PodReadyToStartContainers"
POD_RESIZE_IN_PROGRESS = "PodResizeInProgress"
POD_RESIZE_PENDING = "PodResizePending"
POD_SCHEDULED = "PodScheduled"
READY = "Ready"

KUBELET_OWNED = frozenset(
    {
        ALL_CONTAINERS_RESTARTING,
        CONTAINERS_READY,
        IMAGE_CHANGE_PENDING,
        INITIALIZED,
        POD_READY_TO_START_CONTAINERS,
        POD_RESIZE_IN_PROGRESS,
        POD_RESIZE_PENDING,
        POD_SCHEDULED,
        READY,
    }
)
"""``DisruptionTarget`` is not among them: other components set it as well."""
READY_TO_START_GATE = "PodReadyToStartContainersCondition"
"""The gate without which the kubelet does not own ``PodReadyToStartContainers``, and keeps what is there."""

Statuses = Mapping[str, ContainerStatus]


def initialized_condition(
    spec: PodSpec, statuses: Statuses, phase: str, *, before: bool = False
) -> PodCondition:
    """Return ``Initialized``. ``before``: the pod was initialized before, and stays so."""
    if not statuses and spec.init_containers:
        return PodCondition(type=INITIALIZED, status="False", reason="UnknownContainerStatuses")
    unknown = [c.name for c in spec.init_containers if c.name not in statuses]
    incomplete = [
        c.name for c in spec.init_containers if c.name in statuses and not _init_done(c, statuses[c.name])
    ]
    if phase == SUCCEEDED and not unknown:
        return PodCondition(type=INITIALIZED, status="True", reason="PodCompleted")
    if before or any(_has_run(statuses.get(container.name)) for container in spec.containers):
        return PodCondition(type=INITIALIZED, status="True")
    message = _sentences(("unknown", unknown), ("incomplete", incomplete))
    if message:
        return PodCondition(
            type=INITIALIZED, status="False", reason="ContainersNotInitialized", message=message
        )
    return PodCondition(type=INITIALIZED, status="True")


def _init_done(container: Container, status: ContainerStatus) -> bool:
    return bool(status.started) if is_sidecar(container) else status.ready


def _has_run(status: ContainerStatus | None) -> bool:
    return status is not None and (status.state.running is not None or status.state.terminated is not None)


def _sentences(*parts: tuple[str, Sequence[str]]) -> str:
    return ", ".join(f"containers with {what} status: [{' '.join(names)}]" for what, names in parts if names)


def containers_ready_condition(spec: PodSpec, statuses: Statuses, phase: str) -> PodCondition:
    """Return ``ContainersReady``: sidecars and regular containers are all ready."""
    if not statuses:
        return PodCondition(type=CONTAINERS_READY, status="False", reason="UnknownContainerStatuses")
    wanted = [c.name for c in spec.init_containers if is_sidecar(c)] + [c.name for c in spec.containers]
    unknown = [name for name in wanted if name not in statuses]
    unready = [name for name in wanted if name in statuses and not statuses[name].ready]
    if phase == SUCCEEDED and not unknown:
        return PodCondition(type=CONTAINERS_READY, status="False", reason="PodCompleted")
    if phase == FAILED:
        return PodCondition(type=CONTAINERS_READY, status="False", reason="PodFailed")
    message = _sentences(("unknown", unknown), ("unready", unready))
    if message:
        return PodCondition(
            type=CONTAINERS_READY, status="False", reason="ContainersNotReady", message=message
        )
    return PodCondition(type=CONTAINERS_READY, status="True")


def ready_condition(
    spec: PodSpec, conditions: Iterable[PodCondition], all_ready: PodCondition
) -> PodCondition:
    """Return ``Ready``: the containers are ready, and all conditions of the readiness gates are true."""
    if all_ready.status != "True":
        return structs.replace(all_ready, type=READY)
    held = {found.type: found for found in conditions}
    messages = []
    for gate in spec.readiness_gates:
        found = held.get(gate.condition_type)
        if found is None:
            messages.append(
                f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.'
            )
        elif found.status != "True":
            messages.append(
                f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {found.status}'
            )
    if messages:
        return PodCondition(
            type=READY, status="False", reason="ReadinessGatesNotReady", message=", ".join(messages)
        )
    return PodCondition(type=READY, status="True")


def ready_to_start_condition(sandbox_ready: bool) -> PodCondition:
    """Return ``PodReadyToStartContainers``: sandbox, network and volumes are set up."""
    return PodCondition(type=POD_READY_TO_START_CONTAINERS, status="True" if sandbox_ready else "False")


def scheduled_condition() -> PodCondition:
    return PodCondition(type=POD_SCHEDULED, status="True")


def image_change_condition(pending: Sequence[str], waiting: Mapping[str, WaitingReason]) -> PodCondition:
    """Return the condition of a pod with containers that run on with an old image.

    Upstream has none: its kubelet ends a container before it pulls the new image.
    """
    reasons = [waiting[name] for name in pending]
    texts = [f"container {name}: {why.message}" for name, why in zip(pending, reasons, strict=True)]
    return PodCondition(
        type=IMAGE_CHANGE_PENDING, status="True", reason=reasons[0].reason, message="; ".join(texts)
    )


def all_restarting_condition(restarting: bool, phase: str) -> PodCondition:
    """Return ``AllContainersRestarting``: a restart rule restarts all containers in place."""
    if restarting and phase not in TERMINAL_PHASES:
        return PodCondition(
            type=ALL_CONTAINERS_RESTARTING,
            status="True",
            reason="RestartAllContainersStarted",
            message="container exited with restart policy rule",
        )
    reason = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}.get(phase, "")
    return PodCondition(type=ALL_CONTAINERS_RESTARTING, status="False", reason=reason)


def with_transitions(
    conditions: Iterable[PodCondition], before: Iterable[PodCondition], generation: int, now: datetime
) -> tuple[PodCondition, ...]:
    """Give each condition its transition time and, unless it has one, the generation that it is about."""
    held = {found.type: found for found in before}
    result = []
    for condition in conditions:
        moment = transition_time(held.get(condition.type), condition.status, now)
        about = condition.observed_generation or generation
        result.append(structs.replace(condition, last_transition_time=moment, observed_generation=about))
    return tuple(result)
