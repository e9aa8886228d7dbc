"""The store itself, for a process that keeps a copy: its contents and history, then every change in order.

A snapshot is as of the oldest revision of which history is kept, and all changes since follow it. So a copy
knows the same history as the store, and a client's watch may resume at either.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from podling.apiserver.socket.watch_stream import Outlet, Window
from podling.client.frames import PIECE_BYTES
from podling.client.messages import Changes, Ended, Failure, Snapshot, StoreEntry, StoreEvent
from podling.machinery import errors
from podling.machinery.encoding import codec
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

EVERYTHING = ""
"""The prefix of all keys."""
BEAT_SECONDS = 1.0
"""Something is sent at least this often, so that a copy notices a server that has stopped."""


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
        self._compacted = 0
        """The compaction that was sent."""
        self.task = asyncio.get_running_loop().create_task(self._run())

    def add_credit(self, size: int) -> None:
        self._window.add(size)

    def close(self) -> None:
        """End the stream."""
        self.task.cancel()

    async def _run(self) -> None:
        try:
            await self._send_all()
            self._outlet.send(Ended(self._number))
        except (Compacted, FutureRevision, WatchOverflow) as error:
            self._outlet.send(Failure(self._number, codec.encode(errors.expired(str(error)).status)))
        except StoreError as error:
            self._outlet.send(
                Failure(self._number, codec.encode(errors.service_unavailable(str(error)).status))
            )
        finally:
            if self._watch is not None:
                self._watch.close()

    async def _send_all(self) -> None:
        if self._after is None:
            oldest = self._store.compacted
            self._watch = watch = self._store.watch(EVERYTHING, after=oldest)
            page = await self._store.list(EVERYTHING, revision=oldest)
            await self._send_snapshot(page.entries, oldest, self._store.revision)
        else:
            self._watch = watch = self._store.watch(EVERYTHING, after=self._after)
        self._beat()
        while True:
            self._pending.extend(watch.ready())
            while self._pending:
                await self._window.opened()
                self._send_pending(watch)
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    self._pending.append(await watch.__anext__())
            except TimeoutError:
                self._beat()
            except StopAsyncIteration:
                return

    async def _send_snapshot(self, entries: tuple[Entry, ...], revision: int, newest: int) -> None:
        part: list[StoreEntry] = []
        size = 0
        for entry in entries:
            if size >= PIECE_BYTES:
                await self._send_part(Snapshot(self._number, revision, part, last=False, newest=newest), size)
                part, size = [], 0
            part.append(_entry(entry))
            size += len(entry.value)
        await self._send_part(Snapshot(self._number, revision, part, last=True, newest=newest), size)

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
        if not self._pending and self._store.compacted != self._compacted:
            self._beat()

    def _beat(self) -> None:
        """Send how the store is, though nothing has changed."""
        store, self._compacted = self._store, self._store.compacted
        progress = self._pending[0].revision - 1 if self._pending else self._progress()
        self._outlet.send(Changes(self._number, [], progress, self._compacted, store.trouble))

    def _progress(self) -> int:
        assert self._watch is not None
        return self._watch.progress


def _entry(entry: Entry) -> StoreEntry:
    return StoreEntry(entry.key, entry.create_revision, entry.revision, entry.value)
