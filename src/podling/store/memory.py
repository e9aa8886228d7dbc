"""The store for tests and simulations: committed means in memory, and ends with the process."""

from __future__ import annotations

from typing import Any

from podling.store.base import Encode, Entry, FutureRevision, StoreClosed
from podling.store.hub import DEFAULT_CAPACITY
from podling.store.state import CommittedReads, State


class MemoryStore(CommittedReads):
    """A ``Store`` without a disk. Nothing here ever suspends, so writes happen in call order.

    Args:
        watch_capacity: how many events a watch may be behind before it is cut off.
    """

    def __init__(self, *, watch_capacity: int = DEFAULT_CAPACITY) -> None:
        super().__init__(State(watch_capacity=watch_capacity))
        self._closed = False

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        self._check_open()
        event = self._state.put_event(key, encode, expect, self.revision + 1, memo)
        self._state.commit(event)
        return event.entry

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        self._check_open()
        event = self._state.delete_event(key, encode, expect, self.revision + 1)
        self._state.commit(event)
        return event.entry

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        self._state.compact(revision)

    async def close(self) -> None:
        self._closed = True
        self._state.hub.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed")
