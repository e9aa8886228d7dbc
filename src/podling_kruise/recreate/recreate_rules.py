"""Decisions of the node about ContainerRecreateRequests: which one is next, and its next step. Pure.

Upstream: ``pkg/daemon/containerrecreate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from podling.kubelet.node_controllers import NodeContainer
from podling.machinery.conditions import find
from podling_kruise.recreate.types import (
    FAILED,
    IGNORE,
    PENDING,
    PRE_RECREATE_GRACE,
    RECREATING,
    SUCCEEDED,
    ContainerRecreateRequest,
    RecreateContainer,
    RecreateState,
)

DEFAULT_GRACE_SECONDS = 30
NOT_FOUND = "not found container on Node"
_ORDER = {RECREATING: 2, PENDING: 3}
_LAST = 4

Containers = Mapping[str, NodeContainer]
"""The newest instance of each container of the pod, by name."""


class Step(Struct, frozen=True):
    """The next step: the container to stop, and the states after that; or the end of the request."""

    states: tuple[RecreateState, ...]
    stop: str = ""
    is_complete: bool = False


def is_waiting(request: ContainerRecreateRequest) -> bool:
    """Return whether the node has still to see to the request."""
    return request.metadata.deletion_timestamp is None and request.status.completion_time is None


def in_turn(requests: Iterable[ContainerRecreateRequest]) -> list[ContainerRecreateRequest]:
    """Return the waiting requests for one pod in their order: one that has begun, then by their age."""

    def rank(request: ContainerRecreateRequest) -> tuple[int, str, str]:
        metadata = request.metadata
        created = metadata.creation_timestamp
        age = created.isoformat() if created is not None else ""
        return _ORDER.get(request.status.phase, _LAST), age, metadata.name or ""

    return sorted((each for each in requests if is_waiting(each)), key=rank)


def unready_problem(request: ContainerRecreateRequest) -> str:
    """Return why the node cannot act on the request at all; empty if it can."""
    for each in request.spec.containers:
        if each.status_context is None or not each.status_context.container_id:
            text = f"no statusContext or empty containerID in {each.name} container"
            return f"failed to find runtime service: {text}"
    return ""


def seconds_to_recreation(request: ContainerRecreateRequest, now: datetime) -> float | None:
    """Return the time until containers may be stopped: the pod is to be not ready for a while before.

    None if the pod is not known to be not ready yet.
    """
    seconds = request.spec.strategy.unready_grace_period_seconds
    if seconds is None:
        return 0.0
    found = find(request.status.conditions, PRE_RECREATE_GRACE)
    if found is None or found.status != "True" or found.last_transition_time is None:
        return None
    return max(_left(found.last_transition_time, seconds, now), 0.0)


def grace_seconds(request: ContainerRecreateRequest) -> int:
    """Return the time that a container has to end."""
    seconds = request.spec.strategy.termination_grace_period_seconds
    return DEFAULT_GRACE_SECONDS if seconds is None else seconds


def current_states(
    request: ContainerRecreateRequest, containers: Containers, now: datetime
) -> tuple[RecreateState, ...]:
    """Return the states of the request's containers, as the node has them."""
    earlier = {each.name: each for each in request.status.container_recreate_states}
    return tuple(
        _state(request, each, earlier.get(each.name), containers.get(each.name), now)
        for each in request.spec.containers
    )


def _state(
    request: ContainerRecreateRequest,
    wanted: RecreateContainer,
    earlier: RecreateState | None,
    found: NodeContainer | None,
    now: datetime,
) -> RecreateState:
    if earlier is not None and earlier.phase in (FAILED, SUCCEEDED):
        return earlier
    is_killed = earlier is not None and earlier.is_killed
    if found is None:
        return RecreateState(name=wanted.name, phase=PENDING, message=NOT_FOUND, is_killed=is_killed)
    if found.has_exited:
        return RecreateState(name=wanted.name, phase=RECREATING, is_killed=is_killed)
    if request.spec.strategy.force_recreate and not is_killed:
        return RecreateState(name=wanted.name, phase=PENDING)
    if not _is_other(wanted, found):
        return RecreateState(name=wanted.name, phase=PENDING, is_killed=is_killed)
    phase = SUCCEEDED if _seconds_to_success(request, found, now) == 0 else RECREATING
    return RecreateState(name=wanted.name, phase=phase, is_killed=is_killed)


def _is_other(wanted: RecreateContainer, found: NodeContainer) -> bool:
    """Return whether the container is another one than at the creation of the request."""
    context = wanted.status_context
    if context is None:
        return False
    return found.id != context.container_id or found.restart_count > context.restart_count


def _seconds_to_success(
    request: ContainerRecreateRequest, found: NodeContainer, now: datetime
) -> float | None:
    """Return the time that a new container has still to run; None while it is not known to be ready."""
    shown = next((each for each in request.status.container_status_snapshot if each.name == found.name), None)
    if shown is None or shown.container_id != found.id or not shown.ready:
        return None
    if not found.is_running or found.started_at is None:
        return None
    return max(_left(found.started_at, request.spec.strategy.min_started_seconds, now), 0.0)


def seconds_to_next_success(
    request: ContainerRecreateRequest,
    states: Iterable[RecreateState],
    containers: Containers,
    now: datetime,
) -> float | None:
    """Return the time until the next container has run long enough; None if none is on its way."""
    found = [
        _seconds_to_success(request, containers[each.name], now)
        for each in states
        if each.phase == RECREATING and each.name in containers
    ]
    return min((each for each in found if each is not None), default=None)


def next_step(
    request: ContainerRecreateRequest, states: Sequence[RecreateState], containers: Containers
) -> Step:
    """Return the next step from the current states: at most one container is stopped in a step."""
    strategy, made, ended = request.spec.strategy, list(states), 0
    for number, state in enumerate(states):
        if state.phase in (SUCCEEDED, FAILED):
            if state.phase == FAILED and strategy.failure_policy != IGNORE:
                return Step(tuple(made), is_complete=True)
            ended += 1
            continue
        if state.phase == RECREATING:
            made[number] = structs.replace(state, is_killed=True)
            if strategy.ordered_recreate:
                break
            continue
        if state.name not in containers:
            break
        made[number] = RecreateState(name=state.name, phase=RECREATING, is_killed=True)
        return Step(tuple(made), stop=state.name)
    return Step(tuple(made), is_complete=ended == len(made))


def with_mark(states: Sequence[RecreateState], name: str) -> tuple[RecreateState, ...]:
    """Return the states just before a container is stopped."""
    return tuple(structs.replace(each, is_killed=True) if each.name == name else each for each in states)


def with_failure(states: Sequence[RecreateState], name: str, error: Exception) -> tuple[RecreateState, ...]:
    """Return the states after a container could not be stopped."""
    text = f"kill container error: {error}"
    failed = RecreateState(name=name, phase=FAILED, message=text)
    return tuple(failed if each.name == name else each for each in states)


def _left(since: datetime, seconds: int, now: datetime) -> float:
    return (since + timedelta(seconds=seconds) - now) / timedelta(seconds=1)
