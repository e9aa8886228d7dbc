"""The store itself, for a process that keeps a copy: everything there is, then every change in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress

from podling.apiserver.socket.watch_stream import Outlet, Window
from podling.client.frames import PIECE_BYTES
from podling.client.messages import Changes, Ended, Failure, Snapshot, StoreEntry, StoreEvent
from podling.machinery import errors
from podling.machinery.encoding.status_json import status_json
from podling.store.base import (
    Compacted,
    Entry,
    Event,
    EventType,
    FutureRevision,
    Store,
    StoreError,
    Watch,
    WatchOverflow,
)

log = logging.getLogger(__name__)

PREFIX = "/registry/"


class StoreStream:
    """Sends the store, and its changes until the stream is closed.

    Args:
        after: the revision that the client has; None to begin with everything.
    """

    def __init__(self, outlet: Outlet, number: int, window: int, store: Store, after: int | None) -> None:
        self._outlet, self._number = outlet, number
        self._window = Window(outlet, window)
        self._store, self._after = store, after
        self._watch: Watch | None = None
        self._pending: deque[Event] = deque()
        """Events that were taken from the watch and not sent."""
        self._progress = 0
        """The revision up to which all changes were sent."""
        self._has_begun = False
        self.task = asyncio.get_running_loop().create_task(self._run())

    def add_credit(self, size: int) -> None:
        self._window.add(size)

    def close(self) -> None:
        """End the stream."""
        self.task.cancel()

    def push(self) -> None:
        """Send the changes up to the present, as far as the client has capacity for them."""
        if self._has_begun and self._watch is not None:
            with suppress(WatchOverflow):  # the stream's task ends it
                self._pending.extend(self._watch.ready())
                self._send_pending(self._watch)

    async def _run(self) -> None:
        try:
            await self._send_all()
            self._outlet.send(Ended(self._number))
        except (Compacted, FutureRevision, WatchOverflow) as error:
            self._outlet.send(Failure(self._number, status_json(errors.expired(str(error)).status)))
        except StoreError as error:
            self._outlet.send(
                Failure(self._number, status_json(errors.service_unavailable(str(error)).status))
            )
        finally:
            if self._watch is not None:
                self._watch.close()

    async def _send_all(self) -> None:
        if self._after is None:
            page = await self._store.list(PREFIX)
            self._watch = watch = self._store.watch(PREFIX, after=page.revision)
            await self._send_snapshot(page.entries, page.revision)
            self._progress = page.revision
        else:
            self._watch = watch = self._store.watch(PREFIX, after=self._after)
        self._has_begun = True
        self.push()
        while True:
            while self._pending:
                await self._window.opened()
                self._send_pending(watch)
            try:
                event = await watch.__anext__()
            except StopAsyncIteration:
                return
            self._pending.append(event)
            self._pending.extend(watch.ready())

    async def _send_snapshot(self, entries: tuple[Entry, ...], revision: int) -> None:
        part: list[StoreEntry] = []
        size = 0
        for entry in entries:
            if size >= PIECE_BYTES:
                await self._send_part(Snapshot(self._number, revision, part, last=False), size)
                part, size = [], 0
            part.append(_entry(entry))
            size += len(entry.value)
        await self._send_part(Snapshot(self._number, revision, part, last=True), size)

    async def _send_part(self, part: Snapshot, size: int) -> None:
        self._outlet.send(part)
        self._window.use(size)
        await self._window.opened()

    def _send_pending(self, watch: Watch) -> None:
        """Send pending events while the client has capacity, and how far they go."""
        while self._pending and self._window.is_open:
            events: list[StoreEvent] = []
            size = 0
            while self._pending and size < PIECE_BYTES:
                event = self._pending.popleft()
                events.append(StoreEvent(event.type is EventType.DELETE, _entry(event.entry)))
                size += len(event.entry.value)
            progress = events[-1].entry.revision if self._pending else watch.progress
            self._outlet.send(Changes(self._number, events, progress))
            self._window.use(size)
            self._progress = progress
        if not self._pending and self._window.is_open and watch.progress > self._progress:
            self._progress = watch.progress
            self._outlet.send(Changes(self._number, [], self._progress))


def _entry(entry: Entry) -> StoreEntry:
    return StoreEntry(entry.key, entry.create_revision, entry.revision, entry.value)
