"""NodeResourcesFit: the pod's requests must be free; the emptier a node stays, the better.

The score is LeastAllocated over CPU and memory, and counts containers without requests with a small amount,
so that a hundred of them do not go to one node.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.columns import CPU, MEMORY, PODS, Amounts
from podling.scheduler.framework import SCORE_MAX, Aspect, Plugin, Rejected, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

TOO_MANY_PODS = "Too many pods"


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    weight = 1
    wakes_on = Aspect.ADDED | Aspect.ALLOCATABLE | Aspect.ROOM

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        return tuple(rejected for rejected in _shortages(pod, cache, rows) if rejected.where.any())

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        resources = cache.resources
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for number, column in enumerate((CPU, MEMORY)):
            allocatable = resources.allocatable[column, rows]
            requested = resources.scored[number, rows] + pod.scored[number]
            total += _least_requested(requested, allocatable)
            weights += allocatable > 0
        return total // np.maximum(weights, 1)

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Return the number of pods that fit, and one more for each pod that could be preempted there."""
        resources = cache.resources
        room = resources.allocatable[PODS, rows] - resources.requested[PODS, rows]
        possible = np.ones(len(rows), np.bool_)
        for name, amount in pod.requests.items():
            column = resources.index.get(name)
            if column is None:
                return 0
            allocatable = resources.allocatable[column, rows]
            possible &= amount <= allocatable
            room = np.minimum(room, (allocatable - resources.requested[column, rows]) // amount)
        return int(np.maximum(room, 0).sum()) + self.victims(pod, rows[possible], cache)

    def same_answer(self, pod: PodFacts) -> Hashable:
        return tuple(sorted(pod.requests.items())), pod.priority, pod.spec.preemption_policy


def _shortages(pod: PodFacts, cache: Cache, rows: Rows) -> Iterator[Rejected]:
    resources = cache.resources
    yield Rejected(TOO_MANY_PODS, resources.requested[PODS, rows] + 1 > resources.allocatable[PODS, rows])
    for name, amount in pod.requests.items():
        column = resources.index.get(name)
        reason = f"Insufficient {name}"
        if column is None:
            everywhere = np.ones(len(rows), np.bool_)
            yield Rejected(reason, everywhere, unresolvable=True)
            continue
        allocatable = resources.allocatable[column, rows]
        short = amount > allocatable - resources.requested[column, rows]
        yield Rejected(reason, short, unresolvable=amount > allocatable)


def _least_requested(requested: Amounts, allocatable: Amounts) -> Scores:
    left: Amounts = np.maximum(allocatable - requested, 0)
    share: Scores = left * SCORE_MAX // np.maximum(allocatable, 1)
    return share
