"""Settings of the C library's memory allocator, and the return of free memory to the system.

Large answers are made of pieces of a megabyte. By default glibc returns each to the system as soon as it is
free, and the next one costs page faults: a third of the time of a large list. So free memory is kept, and
returned when a load is over. On other C libraries all this does nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from podling import clock

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of ``mallopt`` (``malloc.h``)."""

KEPT_BYTES = 16 * 1024 * 1024
"""Free memory that is not returned at once."""
MAPPED_FROM_BYTES = 4 * 1024 * 1024
"""Allocations of this size are mapped for themselves, and returned at once."""
ARENAS = 2
"""Each thread takes an arena of its own, and fragments it, up to this number."""

CHECK_SECONDS = 5.0
GROWTH_BYTES = 16 * 1024 * 1024
"""Memory is returned when the process has grown by this, and no longer grows."""
EAGER_SECONDS = 90.0
"""For so long after growth each check is an attempt: what a load has made goes by and by."""
PAUSE_SECONDS_MAX = 640.0
"""The longest pause between two attempts later on. They go on while the process is larger than before; but
those that return little become rare."""

_SIZES = Path("/proc/self/statm")
_SIZES_BYTES_MAX = 256


@cache
def _libc() -> Any:
    """Return glibc, or None."""
    import ctypes

    try:
        libc = ctypes.CDLL(None)
        return libc if libc.mallopt and libc.malloc_trim else None
    except (OSError, AttributeError):
        return None


def tune() -> None:
    """Set the allocator up for a server."""
    libc = _libc()
    if libc is not None:
        libc.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
        libc.mallopt(_MMAP_THRESHOLD, MAPPED_FROM_BYTES)
        libc.mallopt(_ARENA_MAX, ARENAS)


def trim() -> None:
    """Return free memory to the system. This takes milliseconds, during which allocations wait."""
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not show it."""
    try:
        with _SIZES.open("rb", buffering=0) as sizes:
            return int(sizes.read(_SIZES_BYTES_MAX).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Trimmer:
    """Returns memory after loads.

    Args:
        resident: returns the resident bytes of the process.
        trim: returns free memory; called in a thread.
    """

    def __init__(self, resident: Callable[[], int] = resident_bytes, trim: Callable[[], None] = trim) -> None:
        self._resident = resident
        self._trim = trim
        self._least = self._last = self._left = resident()
        self._pause = CHECK_SECONDS
        self._due = self._grown_at = 0.0

    async def run(self) -> None:
        """Trim until cancelled."""
        while True:
            await clock.machine_sleep(clock.aligned(CHECK_SECONDS))
            await self.check(clock.machine_monotonic())

    async def check(self, now: float) -> None:
        """Trim if the process is larger than before, does not grow now, and an attempt is due."""
        size, before = self._resident(), self._last
        self._least, self._last = min(self._least, size), size
        if size - self._left >= GROWTH_BYTES:
            self._grown_at = now
            self._pause, self._due = CHECK_SECONDS, min(self._due, now)
        if size - self._least < GROWTH_BYTES or size > before or now < self._due:
            return
        await asyncio.to_thread(self._trim)
        self._last = self._left = self._resident()
        returned_little = size - self._left < GROWTH_BYTES // 4
        is_late = now - self._grown_at >= EAGER_SECONDS
        self._pause = (
            min(2 * self._pause, PAUSE_SECONDS_MAX) if returned_little and is_late else CHECK_SECONDS
        )
        self._due = now + self._pause
