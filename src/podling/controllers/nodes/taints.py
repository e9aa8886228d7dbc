"""Taints and tolerations: the taints that follow from a node's state, and those that a pod tolerates. Pure.

Upstream: ``k8s.io/component-helpers/scheduling/corev1``, ``pkg/util/taints`` and the condition table of
``pkg/controller/nodelifecycle``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import structs

from podling.api.core_v1 import Node, Taint, Toleration
from podling.clock import seconds_precision
from podling.machinery.conditions import find
from podling.machinery.tolerations import tolerates

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"

CONDITION_TAINTS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): MEMORY_PRESSURE,
    ("DiskPressure", "True"): DISK_PRESSURE,
    ("PIDPressure", "True"): PID_PRESSURE,
    ("NetworkUnavailable", "True"): NETWORK_UNAVAILABLE,
}
"""The NoSchedule taint of each node condition and status."""

MANAGED_KEYS: Final = frozenset({*CONDITION_TAINTS.values(), UNSCHEDULABLE})
"""NoSchedule taints that follow the node's state alone: the controller removes those of other writers."""


def same(one: Taint, other: Taint) -> bool:
    """Return whether two taints are one to the API: key and effect decide."""
    return one.key == other.key and one.effect == other.effect


def has(taints: Iterable[Taint], wanted: Taint) -> bool:
    return any(same(taint, wanted) for taint in taints)


def state_taints(node: Node) -> tuple[Taint, ...]:
    """Return the NoSchedule taints that follow from the node's conditions and ``spec.unschedulable``."""
    keys = [
        CONDITION_TAINTS[condition.type, condition.status]
        for condition in node.status.conditions
        if (condition.type, condition.status) in CONDITION_TAINTS
    ]
    if node.spec.unschedulable:
        keys.append(UNSCHEDULABLE)
    return tuple(Taint(key=key, effect=NO_SCHEDULE) for key in keys)


def stale_state_taints(node: Node) -> tuple[Taint, ...]:
    """Return the managed NoSchedule taints of the node that no longer follow from its state."""
    wanted = state_taints(node)
    return tuple(
        taint
        for taint in node.spec.taints
        if taint.effect == NO_SCHEDULE and taint.key in MANAGED_KEYS and not has(wanted, taint)
    )


def swapped(
    taints: tuple[Taint, ...], add: Iterable[Taint], remove: Iterable[Taint], now: datetime
) -> tuple[Taint, ...]:
    """``taints`` with some added (as of ``now``) and some removed; the very same tuple if that is nothing."""
    gone = tuple(remove)
    result = tuple(taint for taint in taints if not has(gone, taint))
    new = [
        structs.replace(taint, time_added=seconds_precision(now)) for taint in add if not has(result, taint)
    ]
    return (*result, *new) if new or len(result) != len(taints) else taints


def matching_tolerations(
    taints: Sequence[Taint], tolerations: Sequence[Toleration]
) -> tuple[Toleration, ...] | None:
    """For each taint the first toleration that puts up with it; None if some taint has none."""
    used = []
    for taint in taints:
        found = next((each for each in tolerations if tolerates(each, taint)), None)
        if found is None:
            return None
        used.append(found)
    return tuple(used)


def least_toleration_seconds(used: Sequence[Toleration]) -> float | None:
    """For how long the used tolerations hold together: their minimum, at least 0; None for ever."""
    limits = [each.toleration_seconds for each in used if each.toleration_seconds is not None]
    return float(max(0, min(limits))) if limits else None


def is_ready(node: Node) -> bool:
    """Return whether the node's Ready condition is True."""
    ready = find(node.status.conditions, "Ready")
    return ready is not None and ready.status == "True"
