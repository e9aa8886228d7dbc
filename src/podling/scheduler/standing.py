"""Counts what the queue and the cache hold, for metrics. Pure."""

from __future__ import annotations

from collections import Counter

from podling.scheduler.cache import Cache
from podling.scheduler.metrics import Standing
from podling.scheduler.queue import Place, SchedulingQueue


def standing_of(queue: SchedulingQueue, cache: Cache) -> Standing:
    """Return how many pods wait, where and because of which plugins, and how much is cached."""
    pending = Counter(dict.fromkeys((place.value for place in Place), 0))
    groups: Counter[tuple[str, frozenset[str]]] = Counter()
    for place, waiting in queue.places():
        profile = waiting.facts.spec.scheduler_name
        pending[place.value] += 1
        plugins = waiting.rejected_by
        groups[profile, plugins | {waiting.gate} if waiting.gate else plugins] += 1
    rejected: Counter[tuple[str, str]] = Counter()
    for (profile, plugins), count in groups.items():
        for plugin in plugins:
            rejected[plugin, profile] += count
    return Standing(pending, rejected, queue.incoming, cache.sizes())
