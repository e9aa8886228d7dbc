"""The pods whose sidecars are updated next, and the status of a SidecarSet. Pure.

Upstream: ``sidecarset_strategy.go``, and ``calculateStatus`` of ``sidecarset_processor.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from msgspec import Struct, structs

from podling.api.core_v1 import Pod
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery.selectors import readable_selector
from podling_kruise.cloneset.scale_plan import partition_of
from podling_kruise.cloneset.update_plan import activity
from podling_kruise.common_types import ScatterTerm
from podling_kruise.sidecarset.pod_state import (
    can_update,
    is_consistent,
    is_in_update,
    is_pod_ready,
    is_updated,
)
from podling_kruise.sidecarset.types import SidecarSet, SidecarSetStatus, UpdateStrategy
from podling_kruise.update_ranking import by_priority, scattered


class NextPods(Struct, frozen=True):
    """The pods to update now, and those that cannot be updated in place."""

    chosen: list[Pod]
    fixed: list[Pod]


def next_pods(owner: SidecarSet, pods: Sequence[Pod]) -> NextPods:
    """Return the pods to update now, as the strategy allows it."""
    strategy = owner.spec.update_strategy
    selector = readable_selector(strategy.selector) if strategy.selector is not None else None
    waiting, fixed = [], []
    for pod in pods:
        if is_updated(owner, pod):
            continue
        if strategy.selector is not None and not (
            selector is not None and selector.matches(pod.metadata.labels)
        ):
            continue
        if not can_update(owner, pod):
            fixed.append(pod)
        elif not is_in_update(owner, pod):
            waiting.append(pod)
    ordered = update_order(strategy, waiting, pods)
    return NextPods(ordered[: _allowed(owner, ordered, pods)], fixed)


def update_order(strategy: UpdateStrategy, waiting: Sequence[Pod], pods: Sequence[Pod]) -> list[Pod]:
    """Return the waiting pods, those to update first at the beginning."""
    ordered = by_priority(strategy.priority_strategy, sorted(waiting, key=cmp_to_key(activity)))
    return scattered(expanded(strategy.scatter_strategy, pods), ordered, pods)


def expanded(terms: Sequence[ScatterTerm], pods: Sequence[Pod]) -> list[ScatterTerm]:
    """Return the terms, one for each value of a label in place of ``*``."""
    found: dict[tuple[str, str], ScatterTerm] = {}
    for term in terms:
        values = [term.value]
        if term.value == "*":
            values = [pod.metadata.labels[term.key] for pod in pods if term.key in pod.metadata.labels]
        for value in values:
            found.setdefault((term.key, value), structs.replace(term, value=value))
    return list(found.values())


def _allowed(owner: SidecarSet, ordered: Sequence[Pod], pods: Sequence[Pod]) -> int:
    """Return how many of the waiting pods may be updated now."""
    strategy, total = owner.spec.update_strategy, len(pods)
    kept = partition_of(strategy.partition, total) if strategy.partition is not None else 0
    unavailable = scaled(strategy.max_unavailable, total, round_up=True)
    most = 1 if strategy.max_unavailable is None else unavailable
    down = sum(
        is_updated(owner, pod) and not (is_consistent(owner, pod) and is_pod_ready(owner, pod))
        for pod in pods
    )
    count = 0
    for pod in ordered[: max(0, len(ordered) - kept)]:
        if is_pod_ready(owner, pod):
            if down >= most:
                break
            down += 1
        count += 1
    return count


def counted(owner: SidecarSet, pods: Sequence[Pod], revision: str, collisions: int) -> SidecarSetStatus:
    """Return the status with the numbers of the owner's pods."""
    states = [
        (is_updated(owner, pod), is_consistent(owner, pod) and is_pod_ready(owner, pod)) for pod in pods
    ]
    return SidecarSetStatus(
        observed_generation=owner.metadata.generation or 0,
        matched_pods=len(pods),
        updated_pods=sum(updated for updated, _ in states),
        ready_pods=sum(ready for _, ready in states),
        updated_ready_pods=sum(updated and ready for updated, ready in states),
        latest_revision=revision,
        collision_count=collisions,
    )
