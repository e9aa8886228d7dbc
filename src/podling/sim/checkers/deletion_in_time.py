"""The containers of a deleted pod end within its grace period, and then the pod goes.

It holds where the node works and can be reached: only times without faults count.
"""

from __future__ import annotations

from datetime import timedelta

from podling.api.core_v1 import Pod
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Deletion, Report, Surroundings
from podling.sim.checkers.ready_nodes import RECOVERY_SECONDS, ReadyNodes

QUIET_SECONDS = RECOVERY_SECONDS + 90.0
"""Beside the grace period: the deadline of a call that stops a container is longer by it."""
SLACK_SECONDS = 90.0
"""Beyond the grace: kills, removals, retries of writes after a fault, and the object's own deletion."""


class DeletionInTime(Checker):
    """Knows the pods that are being deleted, and the nodes that work."""

    name = "deletion-in-time"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._deleting: dict[str, Deletion] = {}
        """By UID."""
        self._nodes = ReadyNodes()

    def change(self, change: Change) -> None:
        self._nodes.note(change)
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        uid = pod.metadata.uid or ""
        if change.new is None or pod.metadata.deletion_timestamp is None:
            self._deleting.pop(uid, None)
        else:
            since = self._deleting[uid].since if uid in self._deleting else change.at
            self._deleting[uid] = Deletion(change.key, pod, since)

    def tick(self) -> None:
        now = self.surroundings.now()
        slack = timedelta(seconds=SLACK_SECONDS)
        for uid, each in list(self._deleting.items()):
            node = each.pod.spec.node_name or ""
            ready = self._nodes.since(node)
            if ready is None or each.pod.metadata.finalizers or now - max(each.due, ready) <= slack:
                continue
            if self.has_been_quiet_for(QUIET_SECONDS + each.grace_seconds):
                text = f"should have been gone at {each.due:%H:%M:%S}, and is still there"
                self.report(f"{each.key} on {node} {text}")
                del self._deleting[uid]
