"""The durable store: one SQLite file, one writer thread, group commit.

Flow: writes wait in a queue on the event loop. When the writer is free, everything waiting becomes one
transaction: only then is each write compared, given its revision and encoded, so revisions are taken
by writes that nothing but the disk can refuse, and none is skipped. After the commit the batch becomes
visible in memory, then its callers are notified. Several writes of one key go to successive batches, in
order of arrival: the later one is compared with what the earlier one left.

Guarantees: acknowledged means on disk (``synchronous=FULL``); a failed write is visible nowhere and its
revision is taken by the next write; all reads come from memory and never wait.

Rejected: encoding on arrival (a failed commit would leave holes in the revisions already given out
behind it); a task as the writer (cancelling it between the commit and its publication would part
memory from disk).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from podling.store.base import Encode, Entry, Event, EventType, FutureRevision, StoreClosed, WriteFailed
from podling.store.disk_thread import DiskThread
from podling.store.hub import DEFAULT_CAPACITY
from podling.store.logfile import LogFile, replaced_rows
from podling.store.state import CommittedReads, State

logger = logging.getLogger(__name__)

BATCH_WRITES_MAX = 1024
"""Bounds how long one batch may hold the event loop while it is encoded."""

REMOVE_ROWS_MAX = 4096
"""Compaction removes this many rows at a time, so that writes get their turn in between."""


@dataclass(eq=False, slots=True)
class _Write:
    """A write that waits for its turn. ``prepare`` compares, encodes and makes its event."""

    key: str
    prepare: Callable[[int], Event]
    answer: asyncio.Future[Entry]


class SqliteStore(CommittedReads):
    """A ``Store`` in the file ``path``, which is created if need be.

    Opening blocks while the file is read. Raises ``StoreLocked`` while another process has it,
    ``StoreDamaged`` when it is not a sound store.

    Args:
        size_limit_bytes: the file does not grow past this, writes fail instead; 0 for no limit.
        watch_capacity: how many events a watch may be behind before it is cut off.
    """

    def __init__(
        self, path: str | Path, *, size_limit_bytes: int = 0, watch_capacity: int = DEFAULT_CAPACITY
    ) -> None:
        self._file = LogFile(Path(path), size_limit_bytes)
        try:
            contents = self._file.read()
            state = State(contents.entries.values(), contents.compacted, watch_capacity=watch_capacity)
            state.commit(*contents.events)
        except BaseException:
            self._file.close()
            raise
        super().__init__(state)
        self._garbage = deque(contents.garbage)
        self._waiting: deque[_Write] = deque()
        self._disk = DiskThread("podling-store")
        self._idle = asyncio.Event()
        self._idle.set()
        self._compacting = asyncio.Lock()
        self._closed = False
        self._broken = ""
        """Why memory no longer shows what is on disk; empty while it does."""

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        return await self._write(
            key, lambda revision: self._state.put_event(key, encode, expect, revision, memo)
        )

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        return await self._write(
            key, lambda revision: self._state.delete_event(key, encode, expect, revision)
        )

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        async with self._compacting:
            if revision > self.compacted:
                await self._disk.do(self._file.mark_compacted, revision)
                self._garbage.extend(sorted(_garbage(self._state, revision)))
                self._state.compact(revision)
            while self._garbage:
                rows = [self._garbage[i] for i in range(min(len(self._garbage), REMOVE_ROWS_MAX))]
                await self._disk.do(self._file.remove, rows)
                for _ in rows:
                    self._garbage.popleft()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._idle.wait()
        async with self._compacting:
            self._state.hub.close()
            await self._disk.do(self._file.close)
            self._disk.close()

    async def _write(self, key: str, prepare: Callable[[int], Event]) -> Entry:
        self._check_open()
        loop = asyncio.get_running_loop()
        write = _Write(key, prepare, loop.create_future())
        self._waiting.append(write)
        if self._idle.is_set():
            # Not at once: what else is written in this turn of the loop joins the same transaction.
            self._idle.clear()
            loop.call_soon(self._next_batch, loop)
        return await write.answer

    def _next_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        writes, events = self._form_batch()
        if not events:
            self._idle.set()
            return

        def committed(error: BaseException | None) -> None:
            loop.call_soon_threadsafe(self._finish, loop, writes, events, error)

        self._disk.submit(partial(self._file.append, events), committed)

    def _form_batch(self) -> tuple[list[_Write], list[Event]]:
        """Take what waits, in order, each key at most once; refuse what may not be written."""
        writes: list[_Write] = []
        events: list[Event] = []
        keys: set[str] = set()
        held: list[_Write] = []
        while self._broken and self._waiting:
            if not (write := self._waiting.popleft()).answer.done():
                write.answer.set_exception(WriteFailed(self._broken))
        while self._waiting and len(events) < BATCH_WRITES_MAX:
            write = self._waiting.popleft()
            if write.answer.done():
                continue
            if write.key in keys:
                held.append(write)
                continue
            try:
                event = write.prepare(self.revision + len(events) + 1)
            except Exception as error:
                write.answer.set_exception(error)
                continue
            keys.add(write.key)
            writes.append(write)
            events.append(event)
        self._waiting.extendleft(reversed(held))
        return writes, events

    def _finish(
        self,
        loop: asyncio.AbstractEventLoop,
        writes: Sequence[_Write],
        events: Sequence[Event],
        error: BaseException | None,
    ) -> None:
        if error is None:
            error = self._publish(events)
        self.trouble = self._broken or (str(error) if error is not None else "")
        for write, event in zip(writes, events, strict=True):
            if write.answer.done():
                continue
            if error is None:
                write.answer.set_result(event.entry)
            else:
                write.answer.set_exception(WriteFailed(str(error)))
        self._next_batch(loop)

    def _publish(self, events: Sequence[Event]) -> Exception | None:
        """Make a committed batch visible; return what keeps memory from showing it."""
        try:
            self._state.commit(*events)
        except Exception as error:
            # Memory and disk differ from here on: what is compared with memory must not be written.
            self._broken = f"the store takes no writes before it is opened again: {error!r}"
            logger.exception("what was written cannot be shown")
            return WriteFailed(self._broken)
        return None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed")
        if self._broken:
            raise WriteFailed(self._broken)


def _garbage(state: State, revision: int) -> list[int]:
    """Return the rows that no request can read once history up to ``revision`` is compacted."""
    return [
        row
        for event in state.history.up_to(revision)
        for row in replaced_rows(event.revision, event.type is EventType.DELETE, event.previous)
    ]
