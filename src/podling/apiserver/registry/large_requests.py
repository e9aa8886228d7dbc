"""Large requests, kept from holding up small ones: bodies are read in a thread, changes are made in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from podling import clock

T = TypeVar("T")

LARGE_BYTES = 64 * 1024
"""A body or an object of this size takes milliseconds to read or to change."""

PAUSE_SECONDS = 0.005
"""Between two changes of large objects, so that small requests are answered in between."""


class BodyReader:
    """Reads large bodies in one thread of its own, one after the other: their memory and time are bounded."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def read(self, data: bytes, read: Callable[..., T], *args: Any) -> T:
        """Return ``read(data, *args)``; ``read`` must not need the loop."""
        if len(data) < LARGE_BYTES:
            return read(data, *args)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "podling-bodies")
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, data, *args)

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)


class Turns:
    """Lets changes of large objects begin one at a time, with a pause before each."""

    def __init__(self) -> None:
        self._last = asyncio.Lock()

    async def wait(self, size: int) -> None:
        """Return when a change of ``size`` bytes may begin: at once if that is little."""
        if size < LARGE_BYTES:
            return
        async with self._last:
            await clock.sleep(PAUSE_SECONDS)
