"""Watches of one value of a field, a thousand at a time: each kubelet watches the pods of its own node.

Without this every change of a pod would wake every kubelet's watch, to be found not to concern it. A feed
reads one store watch for all of them and hands each event only to those whose value the object has, or had
just before. To its readers a feed's watch is a store watch like any other.

Upstream counterpart: the index triggers of ``staging/src/k8s.io/apiserver/pkg/storage/cacher``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from podling.store.base import Entry, Event, Store, StoreClosed, Watch, WatchOverflow
from podling.store.hub import CAPACITY_BYTES
from podling.supervisor import Supervisor

CAPACITY = 16_384
"""Default limit on the number of events that one reader may lag behind."""

ValueOf = Callable[[Entry], str]


class Feeds:
    """The feeds in use, one for each prefix and field.

    Args:
        capacity: how many events a reader may be behind before it is cut off.
    """

    def __init__(self, store: Store, capacity: int = CAPACITY) -> None:
        self._store = store
        self._capacity = capacity
        self._supervisor = Supervisor()
        self._feeds: dict[tuple[str, str], _Feed] = {}

    def watch(self, prefix: str, field: str, value: str, *, value_of: ValueOf, after: int) -> Watch:
        """Changes under ``prefix`` of objects whose ``field`` has, or had, ``value``.

        Raises ``Compacted`` or ``FutureRevision`` at once.
        """
        missed = self._missed(prefix, after)
        feed = self._feeds.get((prefix, field))
        if feed is None:
            feed = _Feed(self._store, prefix, value_of, lambda: self._feeds.pop((prefix, field), None))
            self._feeds[prefix, field] = feed
            self._supervisor.run_once("apiserver/feed", feed.run, prefix)
        past = feed.concerning(value, missed)
        reader = _Reader(feed, value, self._store.revision, past, self._capacity)
        feed.join(reader)
        return reader

    def _missed(self, prefix: str, after: int) -> list[Event]:
        """Return the events between ``after`` and the present."""
        if after == self._store.revision:
            return []
        past = self._store.watch(prefix, after=after)
        try:
            return past.ready()
        finally:
            past.close()


class _Feed:
    """Reads one store watch and deals its events out by value."""

    def __init__(self, store: Store, prefix: str, value_of: ValueOf, forget: Callable[[], object]) -> None:
        self._watch = store.watch(prefix, after=store.revision)
        self._value_of = value_of
        self._forget = forget
        self._readers: dict[str, dict[_Reader, None]] = {}

    @property
    def progress(self) -> int:
        """Every event up to this revision was dealt out."""
        return self._watch.progress

    def concerning(self, value: str, events: Iterable[Event]) -> Iterator[Event]:
        """Those of ``events`` whose object has ``value``, or had it just before."""
        return (event for event in events if value in self._values(event))

    def _values(self, event: Event) -> tuple[str, ...]:
        """Return the value after the event, and the one before it if that was another."""
        value = self._value_of(event.entry)
        if event.previous is None:
            return (value,)
        before = self._value_of(event.previous)
        return (value,) if before == value else (value, before)

    def join(self, reader: _Reader) -> None:
        self._readers.setdefault(reader.value, {})[reader] = None

    def leave(self, reader: _Reader) -> None:
        readers = self._readers.get(reader.value)
        if readers is None or readers.pop(reader, reader) is reader:
            return
        if not readers:
            del self._readers[reader.value]
        if not self._readers:
            self._forget()
            self._watch.close()

    async def run(self) -> None:
        """Deal out events until the watch ends. After a failure every reader lists again, on a new feed."""
        try:
            async for event in self._watch:
                for each in (event, *self._watch.ready()):
                    self._deal(each)
        except (WatchOverflow, StoreClosed):
            self._cut_off()
        except Exception:
            # Part of an event may have been dealt out: only a new list brings the readers up to date.
            self._cut_off()
            self._watch.close()
            raise
        else:
            for reader in self._everyone():
                reader.close()

    def _cut_off(self) -> None:
        self._forget()
        for reader in self._everyone():
            reader.cut_off()

    def _deal(self, event: Event) -> None:
        for value in self._values(event):
            readers = self._readers.get(value)
            if readers:
                for reader in tuple(readers):
                    reader.offer(event)

    def _everyone(self) -> list[_Reader]:
        return [reader for readers in self._readers.values() for reader in readers]


class _Reader:
    """One reader's queue: a ``store.base.Watch``."""

    __slots__ = (
        "_capacity",
        "_closed",
        "_feed",
        "_overflowed",
        "_queue",
        "_size_bytes",
        "_start",
        "_waiter",
        "value",
    )

    def __init__(self, feed: _Feed, value: str, start: int, missed: Iterator[Event], capacity: int) -> None:
        self._feed = feed
        self._start = start
        """Events up to here are in ``missed``, and not taken from the feed again."""
        self._queue = deque(missed)
        self._capacity = capacity
        self._size_bytes = 0
        """At least the size of what came to the queue; counted again when it seems too large."""
        self._waiter: asyncio.Future[None] | None = None
        self._closed = self._overflowed = False
        self.value = value

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            self._check()
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._queue.popleft()

    def ready(self, limit: int = 0) -> list[Event]:
        self._check()
        if limit and limit < len(self._queue):
            return [self._queue.popleft() for _ in range(limit)]
        taken = list(self._queue)
        self._queue.clear()
        return taken

    @property
    def behind(self) -> bool:
        return bool(self._queue) or self._overflowed

    @property
    def progress(self) -> int:
        if self._queue:
            return self._queue[0].revision - 1
        return max(self._start, self._feed.progress)

    def offer(self, event: Event) -> None:
        if event.revision <= self._start:
            return
        self._queue.append(event)
        if len(self._queue) > self._capacity or self._is_too_large(event):
            self.cut_off()
        self._wake()

    def _is_too_large(self, event: Event) -> bool:
        """Add ``event`` to the size of the queue; return true if a watch may not be so far behind."""
        self._size_bytes += len(event.entry.value)
        if self._size_bytes <= CAPACITY_BYTES:
            return False
        self._size_bytes = sum(len(each.entry.value) for each in self._queue)
        return self._size_bytes > CAPACITY_BYTES

    def close(self) -> None:
        self._closed = True
        self._feed.leave(self)
        self._wake()

    def cut_off(self) -> None:
        self._overflowed = True
        self._queue.clear()
        self._feed.leave(self)
        self._wake()

    def _check(self) -> None:
        if self._overflowed:
            raise WatchOverflow("the watch fell too far behind and was cut off")

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
