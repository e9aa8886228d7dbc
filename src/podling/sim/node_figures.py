"""Figures of the nodes of a run: their states over time, and what they have for pods."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct

from podling.machinery import quantity
from podling.sim.changes import Change
from podling.sim.conditions import is_conditioned

READY, CORDONED, NOT_READY = "Ready", "Cordoned", "NotReady"


class NodeSpan(Struct, frozen=True):
    """A time in which a node was in one state: ``Ready``, ``NotReady`` or ``Cordoned``."""

    node: str
    state: str
    begin: float
    end: float


class _Facts(Struct, frozen=True):
    state: str
    milli: int
    memory: int
    """Allocatable thousandths of a core, and bytes."""

    def amounts(self) -> dict[str, int]:
        ready = int(self.state != NOT_READY)
        return {"nodes": 1, "ready": ready, "milli": self.milli, "memory": self.memory}


class NodeFigures:
    """Follows the nodes. ``totals`` are sums over all: ``nodes``, ``ready``, ``milli``, ``memory``."""

    def __init__(self) -> None:
        self.totals = Counter[str]()
        self.spans: list[NodeSpan] = []
        self._nodes: dict[str, tuple[_Facts, float]] = {}
        """The facts of each node, and the second at which its state began."""

    def change(self, change: Change, at: float) -> None:
        """Take a change of a node at a second of the run into account."""
        found = self._nodes.pop(change.name, None)
        before, since = found if found is not None else (None, at)
        if before is not None:
            self.totals.subtract(before.amounts())
        facts = None if change.new is None else _facts(change, before)
        if before is not None and (facts is None or facts.state != before.state):
            self.spans.append(NodeSpan(change.name, before.state, since, at))
            since = at
        if facts is not None:
            self.totals.update(facts.amounts())
            self._nodes[change.name] = facts, since

    def end(self, at: float) -> None:
        """Close the spans that last."""
        for node, (facts, since) in self._nodes.items():
            self.spans.append(NodeSpan(node, facts.state, since, at))


def node_state(node: Any) -> str:
    """Return the state of a node, as a word. Pure."""
    if not is_conditioned(node, "Ready"):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY


def _facts(change: Change, before: _Facts | None) -> _Facts:
    """Return a node's facts; its amounts are read again only if they changed."""
    node, old = change.new, change.old
    has = node.status.allocatable
    if before is not None and old is not None and old.status.allocatable == has:
        return _Facts(node_state(node), before.milli, before.memory)
    cpu, memory = quantity.parse(str(has.get("cpu", "0"))), quantity.parse(str(has.get("memory", "0")))
    return _Facts(node_state(node), cpu.milli_value, memory.value)
