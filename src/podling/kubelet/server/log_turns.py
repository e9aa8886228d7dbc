"""Turns of the readers of logs, so that many of them hold the event loop no longer than one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from podling import clock


class LogTurns:
    """Lets one reader at a time look through a piece of its log.

    Reading a file never waits. Without turns a reader that has fallen behind an endless output would hold the
    loop until it has caught up, and each of many readers would hold it once in every turn of the loop.
    """

    def __init__(self) -> None:
        self._reading = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Enter when no other reader reads; everything else that is ready runs before the next one does."""
        async with self._reading:
            yield
            await clock.sleep(0)
