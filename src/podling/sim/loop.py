"""The virtual-time event loop: hours pass in milliseconds, in the same order every time.

When every task waits, the loop does not wait with them: it moves its clock to the next timer and
goes on. Wall time, monotonic time and randomness all come from here (see ``podling.clock`` and
``podling.ids``), so a run is repeated exactly by its seed.

Limits: real I/O in flight is invisible to the clock, which would jump past it. Components under
virtual time therefore talk in process; no sockets, no threads, no child processes. When nothing is
left to wait for while the main task has not finished, the loop raises ``Deadlock`` rather than hang.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

from podling import clock

T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The default start of virtual time."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: nothing can ever happen again."""


class JumpingSelector(selectors.DefaultSelector):
    """A selector that never blocks: instead of waiting it passes the loop the length of the jump."""

    jump: float = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self.wait(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise Deadlock("every task is waiting and no timer is set")
        self.jump += max(timeout, 0.0)
        return []

    def wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for descriptors in the machine's time."""
        return super().select(timeout)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves only when everything waits.

    Args:
        seed: decides everything random in the run.
        start: the wall time at which the run begins.
        selector: jumps over the waiting times; None: one that always does.
    """

    def __init__(
        self, seed: int = 0, start: datetime = EPOCH, selector: JumpingSelector | None = None
    ) -> None:
        clock.expect_own_time()
        self._jumping = selector or JumpingSelector()
        super().__init__(self._jumping)
        self._start = start.timestamp()
        self.random_source = random.Random(seed)
        # Timers closer than this fire together; binary fractions add up without drift.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._jumping.jump

    def steady_time(self) -> float:
        return self._jumping.jump

    def wall_time(self) -> float:
        return self._start + self._jumping.jump


def run(main: Coroutine[Any, Any, T], *, seed: int = 0, start: datetime = EPOCH) -> T:
    """Run ``main`` to its end on a fresh virtual-time loop and return its result."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(seed, start)) as runner:
        return runner.run(main)
