"""The event log of a run: one line of JSON for each thing that happened, and their digest.

The log has every change of objects (but for leases and the heartbeats of nodes), every start and end of a
container, every action, and every violation. Two runs with one digest did the same things at the same times.
It has no revisions: a clock that leaps over heartbeats leaves out theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from podling.sim.changes import Change
from podling.sim.checkers.base import ContainerChange

Line = dict[str, Any]
Sink = Callable[[bytes], object]

SILENT = frozenset({"Lease"})
WORKLOADS = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"}
)
_COUNTS = (
    "replicas",
    "ready_replicas",
    "updated_replicas",
    "available_replicas",
    "desired_number_scheduled",
    "number_ready",
    "active",
    "succeeded",
    "failed",
)

END = "end"
"""The event that ends the log of a recording."""


class EventLog:
    """Adds lines to ``sink`` and to the digest.

    Args:
        begin: the virtual time at which the run begins; lines have the seconds since then.
    """

    def __init__(self, begin: datetime, sink: Sink | None = None) -> None:
        self.begin = begin
        self._sink = sink
        self._hash = hashlib.sha256()
        self.lines = 0

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, at: datetime, what: str, **fields: Any) -> None:
        """Add a line."""
        seconds = round((at - self.begin).total_seconds(), 6)
        line = msgspec.json.encode({"at": seconds, "event": what, **fields}) + b"\n"
        self.lines += 1
        self._hash.update(line)
        if self._sink is not None:
            self._sink(line)

    def change(self, change: Change) -> None:
        """Add the line of a change, if it is to have one."""
        if change.resource.kind in SILENT:
            return
        facts = facts_of(change.resource.kind, change.last)
        if change.old is not None and change.new is not None:
            if change.resource.kind == "Node" and facts == facts_of("Node", change.old):
                return
            what = "modified"
        else:
            what = "deleted" if change.new is None else "created"
        self.write(change.at, what, object=change.key, **facts)

    def container(self, change: ContainerChange) -> None:
        """Add the line of a change of a container."""
        container, sandbox = change.container, change.sandbox
        what = "container " + (change.type.value.lower() if change.type is not None else "lost its power")
        self.write(
            change.at,
            what,
            container=f"{sandbox.pod_namespace}/{sandbox.pod_name}/{container.name}",
            node=change.node,
            attempt=container.attempt,
            exit_code=container.exit_code,
        )


def facts_of(kind: str, obj: Any) -> Line:
    """Return the facts of an object that the log shows. Pure."""
    found: Line = {}
    if obj.metadata.deletion_timestamp is not None:
        found["deleting"] = True
    if kind == "Pod":
        found |= _pod_facts(obj)
    elif kind == "Node":
        found |= _node_facts(obj)
    elif kind == "Event":
        about = obj.involved_object
        found |= {"about": f"{about.kind}/{about.name}", "reason": obj.reason, "message": obj.message}
        found["count"] = obj.count
    elif kind in WORKLOADS:
        found["wants"] = getattr(obj.spec, "replicas", None)
        for name in _COUNTS:
            if (number := getattr(obj.status, name, None)) is not None:
                found[name] = number
    return found


def _pod_facts(pod: Any) -> Line:
    status = pod.status
    statuses = status.container_statuses
    return {
        "phase": status.phase,
        "node": pod.spec.node_name,
        "ready": [each.name for each in statuses if each.ready],
        "restarts": sum(each.restart_count for each in statuses),
        "reason": status.reason,
    }


def _node_facts(node: Any) -> Line:
    true = [each.type for each in node.status.conditions if each.status == "True"]
    return {
        "conditions": true,
        "unschedulable": bool(node.spec.unschedulable),
        "taints": [f"{each.key}:{each.effect}" for each in node.spec.taints],
    }
