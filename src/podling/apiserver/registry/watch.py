"""Watches: the changes of the objects that match a watcher's selection.

A watcher sees only matching objects. For the watcher, an object that begins to match is ADDED and one that
stops matching is DELETED, also if the store has modified it. Events come in revision order, each once. A
watch that cannot guarantee this (too old a start, too slow a reader) ends with an error.

A bookmark carries the revision up to which the watcher has received everything, so that it can resume there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from podling import clock, turns
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.decoding import FEW, LOOK_BYTES, decode, first_of
from podling.apiserver.registry.objects import Writing, object_of, viewed
from podling.apiserver.registry.selection import Selection
from podling.client.base import WatchEvent, WatchEventType
from podling.client.requests import ListOptions
from podling.machinery.encoding import codec
from podling.store.base import Entry, Event, EventType, Store, StoreClosed, Watch, WatchOverflow
from podling.turns import TURN_BYTES

BOOKMARK_SECONDS = 60.0
AT_ONCE = 250
"""Objects there from the beginning, or events, that are taken in one piece."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Change(WatchEvent[Any]):
    """An event for a watcher, with the entry that holds its object's bytes."""

    entry: Entry


Open = Callable[[int], Watch]
"""Opens the store's watch of what the watcher may see, after a revision."""


class ObjectWatch:
    """One watcher's events: an async iterator that ends when the server ends the watch.

    Args:
        kind: the struct of the objects.
        prefix: the keys to list when the watch begins with the present state.
        after: the revision after which changes are wanted; None to begin with the present state. One that
            has not happened is waited for in silence.
    """

    def __init__(
        self,
        store: Store,
        open_watch: Open,
        selection: Selection,
        options: ListOptions,
        *,
        kind: type[Any],
        prefix: str,
        after: int | None,
    ) -> None:
        self._store = store
        self._open = open_watch
        self._selection = selection
        self._kind = kind
        self._prefix = prefix
        self._ready: deque[Change] = deque()
        self._received: list[Event] = []
        """Events that the selection can look at only when they are converted."""
        self._present: Sequence[Entry] | None = None
        """Entries that existed when the watch began, until all of them are sent."""
        self._shown = 0
        """The number of them that are sent already."""
        self._watch: Watch | None = open_watch(min(after, store.revision)) if after is not None else None
        self._sent = after or 0
        self._ahead = after is not None and after > store.revision
        self._end = _later(options.timeout_seconds)
        self._bookmarks = options.bookmarks
        self._initial_end = bool(options.send_initial_events) and options.bookmarks
        self._next_bookmark = clock.machine_monotonic() + BOOKMARK_SECONDS if options.bookmarks else None
        """In the machine's time: bookmarks serve the connection, and stop no wound clock."""
        self._closed = False
        self.on_begun: Callable[[], None] | None = None
        """Called when the present state has been taken, before the first change is waited for."""

    def __aiter__(self) -> ObjectWatch:
        return self

    async def __anext__(self) -> Change:
        while not self._ready:
            if self._received:
                await self._convert(tuple(self._received))
                continue
            if self._closed:
                raise StopAsyncIteration
            if self._watch is None:
                await self._begin()
            elif self._present is not None:
                await self._show_present(self._present)
            else:
                if self.on_begun is not None:
                    self.on_begun()
                    self.on_begun = None
                await self._more(self._watch)
        return self._ready.popleft()

    def ready(self) -> list[Change]:
        """Return events that are here already, without waiting: what one write to a socket may carry."""
        if self._watch is not None and self._present is None and not self._closed:
            try:
                self._receive(self._watch.ready(AT_ONCE))
            except WatchOverflow:
                self.close()
        if not self._ready:
            return []
        return [self._ready.popleft() for _ in range(min(AT_ONCE, len(self._ready)))]

    def finish(self) -> None:
        """End after the events that have happened so far."""
        if self._watch is not None and self._present is None and not self._closed:
            with suppress(WatchOverflow, StoreClosed):
                self._receive(self._watch.ready())
        self.close()

    def close(self) -> None:
        self._closed = True
        if self._watch is not None:
            self._watch.close()

    async def aclose(self) -> None:
        """As ``close``, by the name that asynchronous generators have for it."""
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_watch", None) is not None:
            self.close()

    async def _begin(self) -> None:
        """See the present state, and everything after it."""
        page = await self._store.list(self._prefix)
        self._watch = self._open(page.revision)
        self._sent = page.revision
        self._present = page.entries
        if self._closed:
            self._watch.close()

    async def _show_present(self, present: Sequence[Entry]) -> None:
        """Take the next few of what there was when the watch began, as ADDED events."""
        block = first_of(present[self._shown : self._shown + AT_ONCE], TURN_BYTES)
        await decode(block, self._kind)
        if self._selection.view is not None:
            await self._selection.view.prepare(block)
        if len(block) > FEW:
            await turns.take(len(block) * LOOK_BYTES)
        self._shown += len(block)
        for entry in block:
            obj = viewed(entry, self._kind)
            if self._selects(entry, obj):
                self._ready.append(Change(WatchEventType.ADDED, obj, entry))
        if self._shown == len(present):
            self._present = None
            if self._initial_end:
                self._ready.append(self._bookmark({INITIAL_EVENTS_END: "true"}))

    async def _more(self, watch: Watch) -> None:
        """Wait until the first of: an event, the next bookmark, the end of the watch."""
        left = None if self._end is None else max(0.0, self._end - clock.monotonic())
        pause = None if self._next_bookmark is None else self._next_bookmark - clock.machine_monotonic()
        try:
            if left is None and pause is None:
                first = await watch.__anext__()
            else:
                async with asyncio.timeout(pause):
                    first = await self._first(watch, left)
        except TimeoutError:
            self._time_passed(watch)
        except (StopAsyncIteration, WatchOverflow, StoreClosed):
            self.close()
        else:
            self._receive([first, *watch.ready(AT_ONCE)])

    async def _first(self, watch: Watch, left: float | None) -> Event:
        if left is None:
            return await watch.__anext__()
        async with clock.timeout(left):
            return await watch.__anext__()

    def _time_passed(self, watch: Watch) -> None:
        now = clock.machine_monotonic()
        over = self._end is not None and clock.monotonic() >= self._end
        if self._bookmarks and (over or (self._next_bookmark is not None and now >= self._next_bookmark)):
            self._sent = max(self._sent, watch.progress)
            self._ready.append(self._bookmark({}))
            self._next_bookmark = now + BOOKMARK_SECONDS
        if over:
            self.close()

    def _receive(self, events: list[Event]) -> None:
        if self._selection.view is None:
            self._take(events)
        else:
            self._received += events

    async def _convert(self, events: Sequence[Event]) -> None:
        """Take ``events``, in the version that the selection looks at."""
        if self._selection.view is not None:
            entries = [event.entry for event in events]
            before = [event.previous for event in events if event.previous is not None]
            await self._selection.view.prepare([*before, *entries])
        del self._received[: len(events)]
        self._take(events)

    def _take(self, events: Sequence[Event]) -> None:
        if self._ahead:
            events = [event for event in events if event.revision > self._sent]
            self._ahead = not events
        everything = self._selection.everything
        for event in events:
            change = self._plain(event) if everything else self._selected(event)
            if change is not None:
                self._ready.append(change)

    def _plain(self, event: Event) -> Change:
        entry = event.entry
        if event.type is EventType.DELETE:
            kind = WatchEventType.DELETED
        elif entry.revision == entry.create_revision:
            kind = WatchEventType.ADDED
        else:
            kind = WatchEventType.MODIFIED
        return Change(kind, object_of(entry, self._kind), entry)

    def _selected(self, event: Event) -> Change | None:
        """Return the event as the selection sees it; None when it shows nothing of it."""
        entry, before = event.entry, event.previous
        obj = object_of(entry, self._kind)
        matched = before is not None and self._selects(before, object_of(before, self._kind))
        if event.type is EventType.DELETE:
            known = matched if before is not None else self._selects(entry, obj)
            return Change(WatchEventType.DELETED, obj, entry) if known else None
        if self._selects(entry, obj):
            return Change(WatchEventType.MODIFIED if matched else WatchEventType.ADDED, obj, entry)
        if matched and before is not None:
            last = _at_revision(before, entry.revision, self._kind)
            return Change(WatchEventType.DELETED, last.memo.object, last)
        return None

    def _selects(self, entry: Entry, obj: Any) -> bool:
        view = self._selection.view
        return self._selection.matches(obj if view is None else view.of(entry))

    def _bookmark(self, annotations: dict[str, str]) -> Change:
        metadata = ObjectMeta(resource_version=str(self._sent), annotations=annotations)
        obj = structs.replace(self._kind(), metadata=metadata)
        return Change(WatchEventType.BOOKMARK, obj, Entry("", codec.encode(obj), self._sent, 0))


def _later(seconds: int | None) -> float | None:
    return clock.monotonic() + seconds if seconds else None


def _at_revision(entry: Entry, revision: int, kind: type[Any]) -> Entry:
    """The last state a watcher has seen, dated to when it stopped matching."""
    writing = Writing(object_of(entry, kind))
    value = writing.encode(revision)
    return Entry(entry.key, value, revision, entry.create_revision, writing.memo)
