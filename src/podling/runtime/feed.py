"""The event feed that every runtime offers: bounded, never blocking the one who reports.

Events only save time (``list_containers`` is the truth), so a reader that falls far behind loses the
oldest ones instead of holding memory or slowing the runtime down.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator

from podling.runtime.base import ContainerEvent

FEED_LENGTH_MAX = 10_000
"""Events kept for a reader that does not read."""


class Feed:
    """One reader's queue of events, open from the moment it is made."""

    def __init__(self) -> None:
        self._waiting: deque[ContainerEvent] = deque(maxlen=FEED_LENGTH_MAX)
        self._wake = asyncio.Event()
        self._closed = False

    def report(self, event: ContainerEvent) -> None:
        self._waiting.append(event)
        self._wake.set()

    def close(self) -> None:
        """End the feed: queued events can still be read, then the iteration ends."""
        self._closed = True
        self._wake.set()

    def __aiter__(self) -> AsyncIterator[ContainerEvent]:
        return self

    async def __anext__(self) -> ContainerEvent:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._waiting.popleft()


class Feeds:
    """Every reader of one runtime. A reader that let go of its feed is forgotten by itself."""

    def __init__(self) -> None:
        self._open: list[weakref.ref[Feed]] = []

    def __len__(self) -> int:
        return len(self._readers())

    def open(self) -> Feed:
        feed = Feed()
        self._open = [known for known in self._open if known() is not None]
        self._open.append(weakref.ref(feed))
        return feed

    def report(self, event: ContainerEvent) -> None:
        for feed in self._readers():
            feed.report(event)

    def close(self) -> None:
        for feed in self._readers():
            feed.close()
        self._open.clear()

    def _readers(self) -> list[Feed]:
        return [feed for known in self._open if (feed := known()) is not None]
