"""Since when nodes are Ready, for checkers of what kubelets do in time.

A kubelet that was stopped for good is no fault that lasts. Its node is Ready for less than a minute more: no
checker looks so soon after a fault.
"""

from __future__ import annotations

from datetime import datetime

from podling.api.core_v1 import Node
from podling.sim.changes import Change
from podling.sim.conditions import is_conditioned

RECOVERY_SECONDS = 150.0
"""The time after a fault within which a kubelet has begun anew what the fault has spoilt.

A call of the runtime that hung fails after two minutes (``runtimeRequestTimeout``), and has ten seconds to
undo its work. The pod is synced again at most 15 seconds later, and a container that is then stopped has two.
"""


class ReadyNodes:
    """Knows the nodes that are Ready."""

    def __init__(self) -> None:
        self._since: dict[str, datetime] = {}

    def note(self, change: Change) -> None:
        """Take in a change of an object of any kind."""
        if change.resource.kind != "Node":
            return
        node: Node | None = change.new
        if node is None or not is_conditioned(node, "Ready"):
            self._since.pop(change.name, None)
        else:
            self._since.setdefault(change.name, change.at)

    def since(self, node: str) -> datetime | None:
        """Return the moment since which a node is Ready; None if it is not."""
        return self._since.get(node)
