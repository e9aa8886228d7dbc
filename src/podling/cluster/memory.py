"""Returns memory that a burst of work has left behind to the machine.

The C library keeps what was freed for later use, and gives back only what lies at the end of its heap. After
a burst of large requests most of a process' memory may be such free space.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling import clock

CHECK_SECONDS = 10.0
CHECK_SECONDS_MAX = 640.0
"""The longest pause: attempts that give back little are made less and less often."""
GROWN_BYTES = 32 * 1024 * 1024
"""The growth that is worth an attempt."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the memory of this process that is in use now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0


class Plan(Struct, frozen=True):
    """When to trim next. Sizes are resident bytes.

    Attributes:
        least: the smallest size seen.
        left: the size that the last attempt left.
        used: the size now.
        pause: seconds between two attempts.
        due: the moment of the next attempt.
    """

    least: int
    left: int
    used: int
    pause: float
    due: float


def new_plan(used: int, now: float) -> Plan:
    return Plan(used, used, used, CHECK_SECONDS, now)


def looked(plan: Plan, used: int, now: float) -> Plan:
    """Return the plan after a look at the size; attempts are due soon again after the process has grown."""
    plan = replace(plan, least=min(plan.least, used), used=used)
    if used - plan.left > GROWN_BYTES:
        return replace(plan, pause=CHECK_SECONDS, due=min(plan.due, now))
    return plan


def is_due(plan: Plan, now: float) -> bool:
    return now >= plan.due and plan.used - plan.least > GROWN_BYTES


def tried(plan: Plan, left: int, now: float) -> Plan:
    """Return the plan after an attempt that left so many bytes."""
    little = plan.used - left < GROWN_BYTES // 8
    pause = min(plan.pause * 2, CHECK_SECONDS_MAX) if little else CHECK_SECONDS
    return Plan(min(plan.least, left), left, left, pause, now + pause)


class MemoryReturn:
    """Trims the heap of this process while it is much larger than it was at its smallest."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)

    async def run(self) -> None:
        """Look at the size again and again; return at once where the C library cannot trim."""
        plan = new_plan(resident_bytes(), clock.monotonic())
        while self._trim is not None:
            await clock.sleep(CHECK_SECONDS)
            now = clock.monotonic()
            plan = looked(plan, resident_bytes(), now)
            if is_due(plan, now):
                await asyncio.to_thread(self._trim, 0)
                plan = tried(plan, resident_bytes(), now)
