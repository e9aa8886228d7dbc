"""A store in memory whose contents follow another store: the same keys, revisions, history and watches.

It is given what the other store holds (``begin``, ``restore``, ``complete``), then each of its changes
(``commit``), and forgets history with it (``forget``). How these come here is not its business. Reads never
wait and may be behind the other store; ``reached`` waits for a revision. It takes no writes.

A second snapshot takes the place of everything. Every open watch is then cut off: changes may be missing in
between.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from podling import clock
from podling.store.base import Encode, Entry, Event, EventType, StoreError
from podling.store.hub import DEFAULT_CAPACITY
from podling.store.state import CommittedReads, State

FORGOTTEN_AT_ONCE = 1_000
"""Changes let go of before others get a turn."""

Change = tuple[EventType, Entry]


class ReadOnly(StoreError):
    """A write was given to a replica, which takes none."""


class Replica(CommittedReads):
    """The reading half of a ``Store``, fed by its owner.

    Args:
        watch_capacity: how many events a watch may be behind before it is cut off.
    """

    def __init__(self, *, watch_capacity: int = DEFAULT_CAPACITY) -> None:
        super().__init__(State(watch_capacity=watch_capacity))
        self._capacity = watch_capacity
        self.replaced: Callable[[], object] = lambda: None
        """Called after a snapshot has taken the place of other contents."""
        self._coming: State | None = None
        """The state that is being received, until it is as new as the other store was when it began."""
        self._newest = 0
        self._numbers = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        """A heap by revision."""
        self._is_closed = False
        self.is_complete = False
        """True once a whole snapshot has been received."""
        self.trouble = "nothing has been received yet"

    async def reached(self, revision: int) -> None:
        """Return when the replica shows at least ``revision``."""
        if self.revision >= revision and self.is_complete:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._numbers), future))
        await future

    @property
    def is_receiving(self) -> bool:
        """True from the begin of a snapshot until it is shown."""
        return self._coming is not None

    def begin(self, revision: int, newest: int) -> None:
        """Begin a snapshot as of ``revision``. It is shown once changes have brought it to ``newest``."""
        self._coming, self._newest = State((), revision, watch_capacity=self._capacity), newest

    def abandon(self) -> None:
        """Drop a snapshot that will not be completed."""
        self._coming = None

    def restore(self, entries: Iterable[Entry]) -> None:
        """Add entries to the snapshot."""
        assert self._coming is not None, "entries come after the begin of a snapshot"
        self._coming.restore(entries)

    def complete(self) -> None:
        """End the entries of the snapshot."""
        self._show_if_new()

    def commit(self, changes: Sequence[Change]) -> None:
        """Make changes visible. Raises ``ValueError`` unless they follow the revision that is here."""
        state = self._state if self._coming is None else self._coming
        state.commit(*_events(state, changes))
        if self._coming is None:
            self._wake()
        else:
            self._show_if_new()

    async def forget(self, revision: int) -> None:
        """Compact history up to ``revision``, as the other store has."""
        if self._coming is not None:
            return
        target = min(revision, self.revision)
        if self.compacted < target:
            await self.forget_derived()
        while self.compacted < target:
            self._state.compact(min(target, self.compacted + FORGOTTEN_AT_ONCE))
            await clock.sleep(0)

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        raise ReadOnly(f"{key}: a replica takes no writes")

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        raise ReadOnly(f"{key}: a replica takes no writes")

    async def compact(self, revision: int) -> None:
        raise ReadOnly("a replica is compacted with the store that it follows")

    async def close(self) -> None:
        self._is_closed = True
        self._state.hub.close()

    def _show_if_new(self) -> None:
        """Show the snapshot once it is as new as the other store was when it began."""
        coming = self._coming
        if coming is None or coming.history.revision < self._newest:
            return
        before, self._state, self._coming = self._state, coming, None
        is_first, self.is_complete = not self.is_complete, True
        if self._is_closed:
            coming.hub.close()
        before.hub.cut_off()
        if not is_first:
            self.replaced()
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.revision:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)


def _events(state: State, changes: Sequence[Change]) -> list[Event]:
    """Return changes with the entries that they replace: those of ``state``, or of an earlier change."""
    events: list[Event] = []
    changed: dict[str, Entry | None] = {}
    for kind, entry in changes:
        key = entry.key
        previous = changed[key] if key in changed else state.get(key)
        events.append(Event(kind, entry, previous))
        changed[key] = None if kind is EventType.DELETE else entry
    return events
