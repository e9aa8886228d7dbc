"""The pods that wait for a node that preemption freed for them, or that were nominated by others. Pure.

Upstream: ``pkg/scheduler/backend/queue/nominator.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from podling.scheduler.cache import Cache
from podling.scheduler.decide import Nominated
from podling.scheduler.podfacts import PodFacts


class Nominations:
    """Nominated pods by UID, with the names of their nodes."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[PodFacts, str]] = {}

    def add(self, facts: PodFacts, node: str) -> None:
        self._held[facts.uid] = (facts, node)

    def update(self, facts: PodFacts) -> None:
        """Take over a changed pod, if it is nominated."""
        if facts.uid in self._held:
            self.add(facts, self._held[facts.uid][1])

    def end(self, uid: str) -> tuple[PodFacts, str] | None:
        """End a nomination; return the pod and its node, if it had one."""
        return self._held.pop(uid, None)

    def lower_on(self, node: str, priority: int) -> list[PodFacts]:
        """Return the pods of lower priority that are nominated to a node."""
        return [facts for facts, name in self._held.values() if name == node and facts.priority < priority]

    def on(self, nodes: Collection[str]) -> list[str]:
        """Return the UIDs of the pods that are nominated to any of these nodes."""
        return [uid for uid, (_, node) in self._held.items() if node in nodes]

    def in_cache(self, cache: Cache) -> Iterator[Nominated]:
        """Yield the nominations to nodes that exist."""
        for facts, node in self._held.values():
            row = cache.row_of(node)
            if row is not None:
                yield Nominated(facts, row)
