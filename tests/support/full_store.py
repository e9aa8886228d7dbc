"""A store in memory whose disk can be full."""

from __future__ import annotations

from typing import Any

from podling.store.base import Encode, Entry, WriteFailed
from podling.store.memory import MemoryStore

FULL = "the write was not saved: database or disk is full"


class FullStore(MemoryStore):
    """Refuses writes while ``full``, as the durable store does on a full disk."""

    full = False

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        self._check_space()
        return await super().put(key, encode, expect=expect, memo=memo)

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        self._check_space()
        return await super().delete(key, expect=expect, encode=encode)

    def _check_space(self) -> None:
        if self.full:
            raise WriteFailed(FULL)
