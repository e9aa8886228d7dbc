"""Comparison of every workload with its spec, and of every node with Ready."""

from __future__ import annotations

from typing import Any

from podling.sim.changes import Change
from podling.sim.conditions import is_conditioned, state_of

KINDS = frozenset(
    {"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Node", "Pod"}
)
SHOWN_MAX = 10


class Convergence:
    """Keeps the workloads, pods and nodes of a cluster as its changes come."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[str, Any]] = {}

    def change(self, change: Change) -> None:
        if change.kind not in KINDS:
            return
        if change.new is None:
            self._objects.pop(change.key, None)
        else:
            self._objects[change.key] = (change.kind, change.new)

    def problems(self) -> list[str]:
        """Return a line for each object that is not as it should be, the first ones and their number."""
        found = [
            f"{key}: {text}"
            for key, (kind, obj) in sorted(self._objects.items())
            if (text := problem_of(kind, obj))
        ]
        rest = [f"and {len(found) - SHOWN_MAX} more"] if len(found) > SHOWN_MAX else []
        return found[:SHOWN_MAX] + rest


def problem_of(kind: str, obj: Any) -> str:
    """Return why an object is not as its spec says; empty if it is. Pure."""
    if kind == "Node":
        return "" if is_conditioned(obj, "Ready") else state_of(obj)
    if obj.metadata.deletion_timestamp is not None:
        return "is still being deleted"
    if kind == "Pod":
        return "" if obj.status.phase in ("Running", "Succeeded", "Failed") else state_of(obj)
    if (obj.status.observed_generation or 0) < (obj.metadata.generation or 0):
        return "its controller has not observed its spec"
    if kind == "DaemonSet":
        wants, has = obj.status.desired_number_scheduled, obj.status.number_ready
    else:
        wants = 1 if obj.spec.replicas is None else obj.spec.replicas
        has = obj.status.ready_replicas or 0
        if kind in ("Deployment", "StatefulSet") and (obj.status.updated_replicas or 0) != wants:
            return f"{obj.status.updated_replicas or 0} of {wants} pods are up to date"
    return "" if wants == has else f"{has} of {wants} pods are ready"
