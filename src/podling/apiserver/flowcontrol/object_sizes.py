"""Number and average size of the stored objects of a collection, for estimates of the work of a LIST."""

from __future__ import annotations

from podling import clock
from podling.apiserver.flowcontrol.work_estimate import ObjectStats
from podling.client.requests import Target
from podling.store.base import Store

SAMPLE = 1000
"""Objects of a collection whose sizes are read."""
KNOWN_SECONDS = 60.0
"""An average size is used for so long, as upstream's counts are."""
CHANGE = 2
"""An average size is found anew also when there are so many times more or fewer objects than then."""
COLLECTIONS_MAX = 4096


class ObjectSizes:
    """Remembers the average size of the objects of each collection: the objects of a kind in a namespace."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, ObjectStats]] = {}
        """The time and the result of each sample, by the prefix of the keys."""

    async def stats(self, target: Target) -> ObjectStats | None:
        """Return the statistics of a collection; None for objects that are not stored."""
        if not target.resource.stored:
            return None
        prefix = target.resource.namespace_prefix(target.namespace)
        count, now = self._store.count(prefix), clock.machine_monotonic()
        known = self._known.get(prefix)
        if known is not None and now - known[0] < KNOWN_SECONDS:
            before = known[1].count
            if before <= count * CHANGE and count <= before * CHANGE:
                return ObjectStats(count, known[1].average_bytes)
        page = await self._store.list(prefix, limit=SAMPLE)
        size = sum(len(entry.value) for entry in page.entries)
        found = ObjectStats(count, size // max(len(page.entries), 1))
        if len(self._known) >= COLLECTIONS_MAX:
            self._known.clear()
        self._known[prefix] = now, found
        return found
