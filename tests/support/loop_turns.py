"""Counts work by turns of the event loop: the same on every machine."""

from __future__ import annotations

import asyncio
from collections import Counter


class LoopTurns:
    """``work``: what ``add`` counted, by turn of the running loop, while this context manager was open."""

    def __init__(self) -> None:
        self.turn = 0
        self.work: Counter[int] = Counter()
        self._next: asyncio.Handle | None = None

    async def __aenter__(self) -> LoopTurns:
        self._count()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._next is not None:
            self._next.cancel()

    def add(self, amount: int) -> None:
        self.work[self.turn] += amount

    @property
    def most(self) -> int:
        """The most work of one turn."""
        return max(self.work.values(), default=0)

    def _count(self) -> None:
        self.turn += 1
        self._next = asyncio.get_running_loop().call_soon(self._count)
