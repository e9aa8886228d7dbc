"""Writers of one object that get in each other's way: they queue, so that each decides about once.

Without a queue every writer but one decides in vain in every round, and the work grows with the square of
their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from podling.store.base import Conflict

P = ParamSpec("P")
T = TypeVar("T")

RETRIES = 5
"""Number of attempts to decide a write when concurrent writes change the object."""

WAIT_SECONDS = 10.0
"""A writer that takes longer, because its webhooks do, holds up the others no more."""


@dataclass(slots=True)
class _Queue:
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Contention:
    """The queues of objects that several writers change at the moment."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    async def write(
        self, key: str, attempt: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what ``attempt`` stored; it decides anew at each call. Raises its last ``Conflict``."""
        if key not in self._queues:
            try:
                return await attempt(*args, **kwargs)
            except Conflict:
                pass
        async with self._turn(key):
            for _ in range(RETRIES - 1):
                try:
                    return await attempt(*args, **kwargs)
                except Conflict:
                    continue
            return await attempt(*args, **kwargs)

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        queue, mine = self._queues.setdefault(key, _Queue()), False
        queue.waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS):
                    await queue.turn.acquire()
                    mine = True
            yield
        finally:
            if mine:
                queue.turn.release()
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[key]
