"""Writers of one object: they wait in line, in order of arrival, so that each decides once.

Without a line every writer but one decides in vain in every round, and the work grows with the square of
their number. Writers of small objects try once before they join the line; writers of large objects, whose
decision is long, join it at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from podling.store.base import Conflict

P = ParamSpec("P")
T = TypeVar("T")

RETRIES = 5
"""Number of attempts to decide a write when concurrent writes change the object."""

HOLD_SECONDS = 20.0
"""A writer that takes longer, because its webhooks do, holds up the others no more."""


class _Line:
    """The writers of one object: one has the turn, the others wait."""

    def __init__(self) -> None:
        self.members = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._holder: object | None = None
        self._overdue: asyncio.TimerHandle | None = None

    async def take_turn(self) -> object:
        """Wait for the turn; return what it is given back with. A cancelled writer leaves the line."""
        if self._holder is not None or self._waiting:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self.end_turn(turn)  # it may have come at the same moment
                raise
        holder = self._holder = object()
        self._overdue = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.end_turn, holder)
        return holder

    def end_turn(self, holder: object) -> None:
        """Give the turn to the next writer, if ``holder`` still has it."""
        if self._holder is holder:
            self._pass_on()

    def _pass_on(self) -> None:
        self._holder = None
        if self._overdue is not None:
            self._overdue.cancel()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else its writer was cancelled
                self._holder = turn
                turn.set_result(None)
                return


class WriteQueue:
    """The lines of the objects that several writers change at the moment."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    async def write(
        self,
        key: str,
        at_once: bool,
        attempt: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return what ``attempt`` stored; it decides anew at each call. Raises its last ``Conflict``.

        Args:
            at_once: join the line before the first attempt.
        """
        if not at_once and key not in self._lines:
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
        line = self._lines.setdefault(key, _Line())
        line.members += 1
        try:
            holder = await line.take_turn()
            try:
                yield
            finally:
                line.end_turn(holder)
        finally:
            line.members -= 1
            if not line.members:
                del self._lines[key]
