"""The order in which pods are given up, and that in which they are updated. Pure.

Upstream: ``pkg/controller/cloneset/utils/pod_sorter.go``, ``choosePodsToDelete``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cmp_to_key

from podling.api.core_v1 import Node, Pod
from podling.controllers.pod_state import deletion_cost
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready

HOSTNAME = "kubernetes.io/hostname"
PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_LATEST = datetime.max.replace(tzinfo=UTC)

Available = Callable[[Pod], bool]
Ranks = Mapping[str, float]
"""By the UIDs of pods: of two alike, the one with the higher rank goes first."""


def removal_order(
    pods: Sequence[Pod], nodes: Mapping[str, Node], topology_keys: Sequence[str], is_available: Available
) -> list[Pod]:
    """Return the pods, those to give up first coming first.

    Args:
        nodes: by name, for the topology of pods with spread constraints.
        topology_keys: of these constraints.
    """
    ranks = _spread_ranks(pods, nodes, topology_keys) if topology_keys else _same_node_ranks(pods)
    return _ordered(pods, ranks, is_available)


def choose_for_removal(
    number: int,
    number_old: int,
    old: Sequence[Pod],
    new: Sequence[Pod],
    order: Callable[[Sequence[Pod]], list[Pod]],
) -> list[Pod]:
    """Return the pods to delete, the first ``number_old`` of them of the old revision."""

    def chosen(pods: Sequence[Pod], count: int) -> list[Pod]:
        return order(pods)[:count] if count < len(pods) else list(pods)

    if number_old >= number:
        return chosen(old, number)
    if number_old > 0:
        return chosen(old, number_old) + chosen(new, number - number_old)
    return chosen(new, number)


def _ordered(pods: Sequence[Pod], ranks: Ranks, is_available: Available | None = None) -> list[Pod]:
    def compare(one: Pod, other: Pod) -> int:
        return _compare(one, other, ranks, is_available)

    return sorted(pods, key=cmp_to_key(compare))


def _compare(one: Pod, other: Pod, ranks: Ranks, is_available: Available | None) -> int:
    simple = (
        bool(one.spec.node_name) - bool(other.spec.node_name),
        PHASES.get(one.status.phase or "", 0) - PHASES.get(other.status.phase or "", 0),
        is_available(one) - is_available(other) if is_available is not None else 0,
        is_ready(one) - is_ready(other),
        deletion_cost(one) - deletion_cost(other),
        ranks.get(other.metadata.uid or "", 0.0) - ranks.get(one.metadata.uid or "", 0.0),
    )
    for difference in simple:
        if difference:
            return 1 if difference > 0 else -1
    return compare_histories(one, other)


def compare_histories(one: Pod, other: Pod) -> int:
    """Compare two pods: those that are ready since a short time, often restarted, or young come first."""
    if is_ready(one) and is_ready(other) and (order := _younger(_ready_since(one), _ready_since(other))):
        return order
    if _restarts(one) != _restarts(other):
        return _restarts(other) - _restarts(one)
    return _younger(one.metadata.creation_timestamp, other.metadata.creation_timestamp)


def _younger(one: datetime | None, other: datetime | None) -> int:
    """Compare moments: none at all comes before the latest."""
    mine, theirs = one or _LATEST, other or _LATEST
    return 0 if mine == theirs else -1 if mine > theirs else 1


def _ready_since(pod: Pod) -> datetime | None:
    ready = find(pod.status.conditions, "Ready")
    return ready.last_transition_time if ready is not None else None


def _restarts(pod: Pod) -> int:
    return max((each.restart_count for each in pod.status.container_statuses), default=0)


def _same_node_ranks(pods: Sequence[Pod]) -> dict[str, float]:
    """Rank all pods of a node but the last one in their order."""
    ranks: dict[str, float] = {}
    for crowd in _by_node(pods).values():
        ordered = _ordered(crowd, {})[:-1]
        for position, pod in enumerate(ordered):
            ranks[pod.metadata.uid or ""] = float(len(ordered) - position)
    return ranks


def _by_node(pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.spec.node_name:
            found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def _spread_ranks(pods: Sequence[Pod], nodes: Mapping[str, Node], keys: Sequence[str]) -> dict[str, float]:
    """Rank the pods of each domain of each constraint; crowded domains give up pods first."""
    on_nodes = {name: own for name, own in _by_node(pods).items() if name in nodes}
    same_node, ranks = _same_node_ranks(pods), dict[str, float]()
    for key in keys:
        domains: dict[str, list[Pod]] = {}
        for name, own in on_nodes.items():
            value = nodes[name].metadata.labels.get(key)
            if value is not None:
                domains.setdefault(value, []).extend(own)
        weight = math.log(len(domains) + 2)
        for crowd in domains.values():
            ordered = _ordered(crowd, {} if key == HOSTNAME else same_node)
            for position, pod in enumerate(ordered):
                uid = pod.metadata.uid or ""
                ranks[uid] = ranks.get(uid, 0.0) + (len(ordered) - position) * weight
    return ranks
