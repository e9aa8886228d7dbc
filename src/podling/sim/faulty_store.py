"""The memory store with writes that are slow or fail, as on a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from podling import clock, ids
from podling.store.base import DELETE, PUT, Encode, Entry, Event, WriteFailed
from podling.store.memory import MemoryStore

FULL = "the write was not saved: database or disk is full"


class StoreFault(Struct, frozen=True, kw_only=True, eq=False):
    """A fault of a share of the writes: they take longer, or fail."""

    seconds: float = 0.0
    fails: bool = False
    share: float = 1.0


class FaultyStore(MemoryStore):
    """``MemoryStore`` with ``faults``, which may change at any time; every one that hits a write counts.

    Args:
        observe: receives every write at once, in the order of revisions.
    """

    def __init__(self, observe: Callable[[Event], None] | None = None) -> None:
        super().__init__()
        self.faults: list[StoreFault] = []
        self._observe = observe

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        if self.faults:
            await self._suffer()
        previous = self.peek(key)
        entry = await super().put(key, encode, expect=expect, memo=memo)  # never suspends
        if self._observe is not None:
            self._observe(Event(PUT, entry, previous))
        return entry

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        if self.faults:
            await self._suffer()
        previous = self.peek(key)
        entry = await super().delete(key, expect=expect, encode=encode)  # never suspends
        if self._observe is not None:
            self._observe(Event(DELETE, entry, previous))
        return entry

    async def _suffer(self) -> None:
        for fault in list(self.faults):
            if fault.share >= 1.0 or ids.uniform(0.0, 1.0) < fault.share:
                await clock.sleep(fault.seconds)
                if fault.fails:
                    raise WriteFailed(FULL)
