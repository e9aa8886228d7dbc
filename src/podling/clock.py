"""Time: the only module that reads clocks or waits.

Time comes from the running event loop. A loop that keeps its own wall clock (the virtual-time
loop of ``podling.sim``) offers ``wall_time()``; on any other loop, and outside of one, wall time is
the system's. Nothing else in Podling may read a clock or wait: a lint rule and a test hold this,
so the same components run unchanged on a virtual clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol


class OwnTime(Protocol):
    """A loop that keeps time itself."""

    def wall_time(self) -> float: ...
    def time(self) -> float: ...


_own_times = False
"""True once this process has made such a loop: time is read too often to query the loop each time."""


def expect_own_time() -> None:
    """Record that a loop with its own time exists in this process: query the running loop from now on."""
    global _own_times
    _own_times = True


def own_loop() -> OwnTime | None:
    """Return the running loop if it keeps time itself."""
    if not _own_times:
        return None
    loop: Any = asyncio._get_running_loop()  # raises no exception where there is no loop
    return loop if hasattr(loop, "wall_time") else None


def now() -> datetime:
    """Return the current time in UTC, with microseconds. Read it once per decision and pass it on."""
    loop = own_loop() if _own_times else None
    return datetime.now(UTC) if loop is None else datetime.fromtimestamp(loop.wall_time(), UTC)


def seconds_precision(moment: datetime) -> datetime:
    """``moment`` cut to whole seconds, as API timestamps (``metav1.Time``) carry it."""
    return moment.replace(microsecond=0)


def monotonic() -> float:
    """Return seconds on a clock that never goes back; only differences mean something."""
    if _own_times:
        loop: Any = asyncio._get_running_loop()
        if hasattr(loop, "wall_time"):
            return float(loop.time())
    return time.monotonic()


async def sleep(seconds: float) -> None:
    """Wait for ``seconds``; zero or less only lets others run."""
    await asyncio.sleep(max(0.0, seconds))


async def wait_for(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until ``event`` is set, at most ``seconds`` (``None``: for ever); True if it was set."""
    if seconds is None:
        await event.wait()
        return True
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when the first of them does; the others are given up."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
