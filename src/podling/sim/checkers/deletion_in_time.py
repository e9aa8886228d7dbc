"""The containers of a deleted pod end within its grace period, and then the pod goes.

It holds where the node works and can be reached: only times without faults count.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import Node, Pod
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings
from podling.sim.conditions import is_conditioned

QUIET_SECONDS = 240.0
"""A call of the runtime that hung during a fault ends two minutes later."""
SLACK_SECONDS = 90.0
"""Beyond the grace: kills, removals, retries of writes after a fault, and the object's own deletion."""


class DeletionInTime(Checker):
    """Knows the pods that are being deleted, and the nodes that work."""

    name = "deletion-in-time"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._due: dict[str, tuple[datetime, str, str]] = {}
        """When, on which node and under which name a pod must be gone, by UID."""
        self._ready: dict[str, datetime] = {}
        """Since when nodes are Ready."""

    def change(self, change: Change) -> None:
        if change.resource.kind == "Node":
            self._note_node(change)
        elif change.resource.kind == "Pod":
            self._note_pod(change)

    def _note_node(self, change: Change) -> None:
        node: Node | None = change.new
        if node is None or not is_conditioned(node, "Ready"):
            self._ready.pop(change.name, None)
        else:
            self._ready.setdefault(change.name, change.at)

    def _note_pod(self, change: Change) -> None:
        pod: Pod = change.last
        uid = pod.metadata.uid or ""
        deletion = pod.metadata.deletion_timestamp
        if change.new is None or deletion is None or pod.metadata.finalizers or not pod.spec.node_name:
            self._due.pop(uid, None)
        else:
            self._due[uid] = (deletion, pod.spec.node_name, change.key)

    def tick(self) -> None:
        if not self.has_been_quiet_for(QUIET_SECONDS):
            return
        now = self.surroundings.now()
        slack = timedelta(seconds=SLACK_SECONDS)
        for uid, (due, node, key) in list(self._due.items()):
            ready = self._ready.get(node)
            if ready is not None and now - max(due, ready) > slack:
                self.report(f"{key} on {node} should have been gone at {due:%H:%M:%S}, and is still there")
                del self._due[uid]
