"""NodeResourcesFit: the pod's requests must be free; the emptier a node stays, the better.

The scoring strategy may be another one, over other resources than CPU and memory. Extended resources may be
ignored by the filter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from podling.machinery.resource_names import is_extended
from podling.scheduler.cache import Cache
from podling.scheduler.columns import PODS
from podling.scheduler.configuration.plugin_args import NodeResourcesFitArgs, default_args
from podling.scheduler.framework import Aspect, OwnChange, Plugin, PodEvent, Rejected, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.plugins.resource_shares import shares, strategy_of
from podling.scheduler.podfacts import PodFacts

TOO_MANY_PODS = "Too many pods"


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    arguments = NodeResourcesFitArgs
    also_at = frozenset({"pre_filter", "pre_score"})
    wakes_on = Aspect.ADDED | Aspect.ALLOCATABLE | Aspect.ROOM
    wakes_on_own = OwnChange.SMALLER
    wakes_on_pods = PodEvent(0)

    def __init__(self, args: NodeResourcesFitArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))
        self._ignored = frozenset(self.args.ignored_resources)
        self._ignored_groups = frozenset(self.args.ignored_resource_groups)
        self._resources = self.args.scoring_strategy.resources
        self._strategy = strategy_of(self.args.scoring_strategy)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        return tuple(rejected for rejected in self._shortages(pod, cache, rows) if rejected.where.any())

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        found = tuple(shares(pod, cache, rows, self._resources, non_zero=True))
        return self._strategy(found, len(rows))

    def requests(self, pod: PodFacts) -> Iterator[tuple[str, int]]:
        """Yield the requests that the filter does not ignore."""
        for name, amount in pod.requests.items():
            if not (self._ignored or self._ignored_groups) or not self._is_ignored(name):
                yield name, amount

    def _is_ignored(self, name: str) -> bool:
        if not is_extended(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Return the number of pods that fit, and one more for each pod that could be preempted there."""
        resources = cache.resources
        room = resources.allocatable[PODS, rows] - resources.requested[PODS, rows]
        possible = np.ones(len(rows), np.bool_)
        for name, amount in self.requests(pod):
            column = resources.index.get(name)
            if column is None:
                return 0
            allocatable = resources.allocatable[column, rows]
            possible &= amount <= allocatable
            room = np.minimum(room, (allocatable - resources.requested[column, rows]) // amount)
        return int(np.maximum(room, 0).sum()) + self.victims(pod, rows[possible], cache)

    def same_answer(self, pod: PodFacts) -> Hashable:
        return tuple(sorted(pod.requests.items())), pod.priority, pod.spec.preemption_policy

    def _shortages(self, pod: PodFacts, cache: Cache, rows: Rows) -> Iterator[Rejected]:
        resources = cache.resources
        yield Rejected(TOO_MANY_PODS, resources.requested[PODS, rows] + 1 > resources.allocatable[PODS, rows])
        for name, amount in self.requests(pod):
            column = resources.index.get(name)
            reason = f"Insufficient {name}"
            if column is None:
                everywhere = np.ones(len(rows), np.bool_)
                yield Rejected(reason, everywhere, unresolvable=True)
                continue
            allocatable = resources.allocatable[column, rows]
            short = amount > allocatable - resources.requested[column, rows]
            yield Rejected(reason, short, unresolvable=amount > allocatable)
