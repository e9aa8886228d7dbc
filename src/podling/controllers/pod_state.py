"""The state of a pod for its controller: active, ready, available; and the order of deletions. Pure.

Upstream: ``pkg/controller/controller_utils.go`` and ``pkg/api/v1/pod/util.go``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key

from podling.api.core_v1 import ContainerStatus, Pod
from podling.machinery.numbers import INT32_MAX, natural
from podling.machinery.pods import condition, is_ready, is_sidecar, is_terminal

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: Pod) -> bool:
    """Return whether the pod has not ended and is not being deleted."""
    return not is_terminal(pod) and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Return whether the pod is being deleted and has not ended yet."""
    return not is_terminal(pod) and pod.metadata.deletion_timestamp is not None


def available_at(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When a pod that stays ready is available; None while it is not ready."""
    ready = condition(pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    since = ready.last_transition_time
    if since is None:
        return None if min_ready_seconds else pod.metadata.creation_timestamp or datetime.min
    return since + timedelta(seconds=min_ready_seconds)


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether the pod has been ready for that long."""
    if not min_ready_seconds:
        return is_ready(pod)
    moment = available_at(pod, min_ready_seconds)
    return moment is not None and moment <= now


def seconds_to_next_available(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> float | None:
    """Return the time until the next ready pod becomes available; None if none will."""
    if not min_ready_seconds:
        return None
    moments = (available_at(pod, min_ready_seconds) for pod in pods)
    waits = [(moment - now) / timedelta(seconds=1) for moment in moments if moment and moment > now]
    return min(waits, default=None)


def deletion_cost(pod: Pod) -> int:
    """Return the annotated cost of deleting the pod; 0 without one, or when it is not a 32-bit number."""
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    digits = text[1:] if text[:1] in ("-", "+") else text
    value = natural(digits, 2**31)
    if value is None or text.startswith("+"):
        return 0
    cost = -value if text.startswith("-") else value
    return cost if cost <= INT32_MAX else 0


def restarts(pod: Pod) -> tuple[int, int]:
    """Return the most restarts of a regular container, and of a sidecar."""
    sidecars = {each.name for each in pod.spec.init_containers if is_sidecar(each)}
    return (
        _most(pod.status.container_statuses),
        _most(each for each in pod.status.init_container_statuses if each.name in sidecars),
    )


def _most(statuses: Iterable[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)


def removal_order(pods: Sequence[Pod], related: Iterable[Pod], now: datetime) -> list[Pod]:
    """``pods`` with those to give up first coming first.

    Unbound before bound, Pending before Unknown before Running, not ready before ready, cheap before
    dear, on a crowded node before alone (``related`` count there), ready or created recently before
    long ago (on a logarithmic scale, so that equally old ones are drawn by UID), often restarted first.
    """
    crowd: dict[str, int] = {}
    for pod in related:
        if is_active(pod) and pod.spec.node_name:
            crowd[pod.spec.node_name] = crowd.get(pod.spec.node_name, 0) + 1

    def compare(one: Pod, other: Pod) -> int:
        return _compare(one, other, crowd, now)

    return sorted(pods, key=cmp_to_key(compare))


def plain_removal_order(pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods with those to give up first coming first, as Jobs do: without costs and crowds, and
    every difference of age counts."""

    def compare(one: Pod, other: Pod) -> int:
        node, other_node = one.spec.node_name or "", other.spec.node_name or ""
        simple = (
            bool(node) - bool(other_node),
            _PHASES.get(one.status.phase or "", 0) - _PHASES.get(other.status.phase or "", 0),
            is_ready(one) - is_ready(other),
        )
        for difference in simple:
            if difference:
                return difference
        both = is_ready(one) and is_ready(other)
        return (
            (_younger(_ready_since(one), _ready_since(other)) if both else 0)
            or _more_restarts(one, other)
            or _younger(one.metadata.creation_timestamp, other.metadata.creation_timestamp)
        )

    return sorted(pods, key=cmp_to_key(compare))


def _younger(moment: datetime | None, other_moment: datetime | None) -> int:
    if moment == other_moment:
        return 0
    if moment is None or other_moment is None:
        return -1 if moment is None else 1
    return -1 if moment > other_moment else 1


def _more_restarts(one: Pod, other: Pod) -> int:
    for mine, theirs in zip(restarts(one), restarts(other), strict=True):
        if mine != theirs:
            return theirs - mine
    return 0


def _compare(one: Pod, other: Pod, crowd: dict[str, int], now: datetime) -> int:
    node, other_node = one.spec.node_name or "", other.spec.node_name or ""
    simple = (
        bool(node) - bool(other_node),
        _PHASES.get(one.status.phase or "", 0) - _PHASES.get(other.status.phase or "", 0),
        is_ready(one) - is_ready(other),
        deletion_cost(one) - deletion_cost(other),
        crowd.get(other_node, 0) - crowd.get(node, 0),
    )
    for difference in simple:
        if difference:
            return difference
    if is_ready(one) and is_ready(other):
        difference = _younger_first(_ready_since(one), _ready_since(other), one, other, now)
        if difference:
            return difference
    difference = _more_restarts(one, other)
    if difference:
        return difference
    created, other_created = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    difference = _younger_first(created, other_created, one, other, now)
    # Upstream leaves equal ones to its sort. Beside ones of another second, which are drawn by UID, that is
    # no order: the result would depend on the algorithm, which differs between versions of Python.
    return difference or (-1 if (one.metadata.uid or "") < (other.metadata.uid or "") else 1)


def _ready_since(pod: Pod) -> datetime | None:
    ready = condition(pod, "Ready")
    return ready.last_transition_time if ready else None


def _younger_first(
    moment: datetime | None, other_moment: datetime | None, one: Pod, other: Pod, now: datetime
) -> int:
    if moment == other_moment:
        return 0
    if moment is None or other_moment is None:
        return -1 if moment is None else 1
    rank, other_rank = _log_age(moment, now), _log_age(other_moment, now)
    if rank != other_rank:
        return rank - other_rank
    return -1 if (one.metadata.uid or "") < (other.metadata.uid or "") else 1


def _log_age(moment: datetime, now: datetime) -> int:
    nanoseconds = (now - moment) / timedelta(microseconds=1) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1
