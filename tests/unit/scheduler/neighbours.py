"""Four nodes in zones, and web and db pods on them, for plugins that look at neighbouring pods."""

from __future__ import annotations

from collections.abc import Mapping

from podling.scheduler.cache import Cache
from tests.unit.scheduler.scheduling import cache_of, facts, node

WEB = {"app": "web"}
DB = {"app": "db"}

NODES = (
    node("a1", labels={"zone": "a"}),
    node("a2", labels={"zone": "a"}),
    node("b1", labels={"zone": "b"}),
    node("bare"),
)


def spread_of(*there: Mapping[str, int]) -> Cache:
    """Return the four nodes with so many web pods on each; the second mapping places db pods."""
    cache = cache_of(*NODES)
    for labels, counts in zip((WEB, DB), there, strict=False):
        for name, count in counts.items():
            for _ in range(count):
                cache.add_pod(facts(labels=labels), name)
    return cache
