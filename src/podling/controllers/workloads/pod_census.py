"""Counts of an owner's pods by state, updated by every event instead of counted anew.

In a roll-out each pod that becomes ready requeues its owner. Counting all pods each time costs the square of
their number: minutes of work for a few thousand. Here the cost of an event does not depend on the number.
The counts are exact at every moment, because an informer changes its copy and calls its handlers without a
break in between. What they count by (selector, labels) may change: then all are counted anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntFlag

from podling.api.core_v1 import Pod
from podling.client.informer import Informer
from podling.controllers.children import BY_CONTROLLER
from podling.controllers.owner_references import controller_of
from podling.controllers.pod_state import is_active, is_terminating
from podling.machinery.pods import is_ready
from podling.machinery.selectors import LabelSelector


class Fact(IntFlag):
    """The states that are counted. ``READY`` and ``LABELED`` hold for active pods only."""

    ACTIVE = 1
    READY = 2
    LABELED = 4
    """It has all labels of its owner's template."""
    TERMINATING = 8
    STRAY = 16
    """Its owner's selector does not match its labels (any more)."""


_BITS = tuple(int(each) for each in Fact)


def facts(pod: Pod, selector: LabelSelector, labels: Mapping[str, str]) -> int:
    if not selector.matches(pod.metadata.labels):
        return int(Fact.STRAY)
    if is_active(pod):
        ready = int(Fact.READY) if is_ready(pod) else 0
        labeled = int(Fact.LABELED) if labels.items() <= pod.metadata.labels.items() else 0
        return int(Fact.ACTIVE) | ready | labeled
    return int(Fact.TERMINATING) if is_terminating(pod) else 0


@dataclass(slots=True)
class Count:
    """The pods of one owner: what is known of each, and the sums."""

    selector: LabelSelector
    labels: Mapping[str, str]
    known: dict[str, int] = field(default_factory=dict)
    sums: dict[int, int] = field(default_factory=lambda: dict.fromkeys(_BITS, 0))

    def __getitem__(self, fact: Fact) -> int:
        return self.sums[fact]

    def put(self, pod: Pod) -> None:
        uid, new = pod.metadata.uid or "", facts(pod, self.selector, self.labels)
        old = self.known.get(uid, 0)
        self.known[uid] = new
        self._move(old, new)

    def drop(self, pod: Pod) -> None:
        self._move(self.known.pop(pod.metadata.uid or "", 0), 0)

    def _move(self, old: int, new: int) -> None:
        if old != new:
            for bit in _BITS:
                self.sums[bit] += bool(new & bit) - bool(old & bit)


class PodCensus:
    """Counts the pods of the owners that were queried, and of no others.

    ``pods`` must be indexed by controller (``children``) before the first query.
    """

    def __init__(self, pods: Informer[Pod]) -> None:
        self._pods = pods
        self._counts: dict[str, Count] = {}
        pods.add_handler(self._seen, self._changed, self._gone)

    def of(self, owner: str, selector: LabelSelector, labels: Mapping[str, str]) -> Count:
        """Return the pods of the owner with this UID; ``labels`` are those of its template."""
        count = self._counts.get(owner)
        if count is None or count.selector != selector or count.labels != labels:
            count = self._counts[owner] = Count(selector, labels)
            for pod in self._pods.by_index(BY_CONTROLLER, owner):
                count.put(pod)
        return count

    def forget(self, owner: str) -> None:
        self._counts.pop(owner, None)

    def _count_of(self, pod: Pod) -> Count | None:
        ref = controller_of(pod)
        return self._counts.get(ref.uid) if ref is not None else None

    def _seen(self, pod: Pod) -> None:
        count = self._count_of(pod)
        if count is not None:
            count.put(pod)

    def _changed(self, old: Pod, new: Pod) -> None:
        before, after = self._count_of(old), self._count_of(new)
        if before is not None and before is not after:
            before.drop(old)
        if after is not None:
            after.put(new)

    def _gone(self, pod: Pod) -> None:
        count = self._count_of(pod)
        if count is not None:
            count.drop(pod)
