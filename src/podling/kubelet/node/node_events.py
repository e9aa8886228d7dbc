"""Events of the kubelet about its node: its start, changes of its conditions and of cordoning. Pure.

Upstream: ``pkg/kubelet/nodestatus/setters.go``, ``recordNodeSchedulableEvent`` and ``BirthCry`` of
``pkg/kubelet``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import Node, NodeCondition

STARTING = ("Starting", "Starting kubelet.")
_REASONS = {
    ("MemoryPressure", "True"): "NodeHasInsufficientMemory",
    ("MemoryPressure", "False"): "NodeHasSufficientMemory",
    ("DiskPressure", "True"): "NodeHasDiskPressure",
    ("DiskPressure", "False"): "NodeHasNoDiskPressure",
    ("PIDPressure", "True"): "NodeHasInsufficientPID",
    ("PIDPressure", "False"): "NodeHasSufficientPID",
    ("Ready", "True"): "NodeReady",
    ("Ready", "False"): "NodeNotReady",
}
"""The reason of the event about a condition that has just got a status."""


def node_events(
    before: Sequence[NodeCondition], node: Node, *, was_unschedulable: bool | None
) -> list[tuple[str, str]]:
    """Return reason and message of the events after a report.

    Args:
        before: the node's conditions before the report.
        node: the node as written.
        was_unschedulable: whether the node was cordoned at the last report; None for the first one.
    """
    known = {condition.type: condition.status for condition in before}
    reasons = [
        _REASONS[condition.type, condition.status]
        for condition in node.status.conditions
        if (condition.type, condition.status) in _REASONS and known.get(condition.type) != condition.status
    ]
    cordoned = bool(node.spec.unschedulable)
    if was_unschedulable is not None and was_unschedulable != cordoned:
        reasons.append("NodeNotSchedulable" if cordoned else "NodeSchedulable")
    return [(reason, f"Node {node.metadata.name} status is now: {reason}") for reason in reasons]
