"""Counts what the queue and the cache hold, for metrics. Pure."""

from __future__ import annotations

from collections import Counter

from podling.scheduler.cache import Cache
from podling.scheduler.metrics import Standing
from podling.scheduler.plugins.gang_scheduling import GangScheduling
from podling.scheduler.plugins.scheduling_gates import SchedulingGates
from podling.scheduler.queue import Place, SchedulingQueue

_GATED = frozenset({SchedulingGates.name})
_GANG = frozenset({GangScheduling.name})


def standing_of(queue: SchedulingQueue, cache: Cache) -> Standing:
    """Return how many pods wait, where and because of which plugins, and how much is cached."""
    pending = Counter(dict.fromkeys((place.value for place in Place), 0))
    groups: Counter[tuple[str, frozenset[str]]] = Counter()
    for place, waiting in queue.places():
        profile = waiting.facts.spec.scheduler_name
        pending[place.value] += 1
        groups[profile, waiting.rejected_by] += 1
        if place is Place.GATED:
            spec = waiting.facts.spec
            if spec.scheduling_gates:
                groups[profile, _GATED] += 1
            elif spec.scheduling_group is not None and not waiting.rejected_by:
                groups[profile, _GANG] += 1
    rejected: Counter[tuple[str, str]] = Counter()
    for (profile, plugins), count in groups.items():
        for plugin in plugins:
            rejected[plugin, profile] += count
    return Standing(pending, rejected, queue.incoming, cache.sizes())
