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
import heapq
import math
import random
import selectors
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context
from datetime import UTC, datetime
from typing import Any, TypeVar

from podling import clock
from podling.sim.idle.leaps import Leaps
from podling.sim.idle.timers import Kind, NumberedTimer
from podling.sim.machine_clock import machine_clock

T = TypeVar("T")

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The default start of virtual time."""


TURNS_MAX = 10_000_000
"""The turns of the loop at one moment; 100,000 pods that are bound at once take fewer."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: nothing can ever happen again."""


class Livelock(RuntimeError):
    """Tasks wake one another for ever without waiting for a timer: time would never move again."""


class JumpingSelector(selectors.DefaultSelector):
    """A selector that never blocks: instead of waiting it passes the loop the length of the jump."""

    jump: float = 0.0
    leaps: Leaps
    turns: int = 0
    """The turns that the loop has taken since it last moved its clock."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self.wait(0)
        if ready or timeout == 0:
            self.turns += 1
            if self.turns > TURNS_MAX:
                self.turns = 0  # so that the tasks can be cancelled
                raise Livelock(f"time stands still after {TURNS_MAX:,} turns of {_busy_tasks()}")
            return ready
        self.turns = 0
        if self.leaps.make_passed():
            return []
        if timeout is None:
            raise Deadlock("every task is waiting and no timer is set")
        leap = self.leaps.leap(self.jump)
        self.jump = self.jump + max(timeout, 0.0) if leap is None else leap
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
        self._timers_made = 0
        self.leaps = self._jumping.leaps = Leaps(self)

    def call_at(  # type: ignore[override]  # their number is not checked
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if when < self.leaps.next_event:
            self.leaps.next_event = when
        return self.add_timer(when, callback, args, context)

    def add_timer(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None = None,
        *,
        kind: Kind = Kind.EVENT,
        period: float = math.inf,
    ) -> NumberedTimer:
        """Call ``callback`` at a moment of ``time()``."""
        self._check_closed()  # type: ignore[attr-defined]
        timer = NumberedTimer(when, callback, args, self, context)
        timer.kind, timer.period = kind, period
        self._timers_made = timer.number = self._timers_made + 1
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    @property
    def timers(self) -> list[NumberedTimer]:
        """The timers that have not fired, as a heap; some of them are cancelled."""
        return self._scheduled  # type: ignore[attr-defined, no-any-return]

    def postpone(self, timer: NumberedTimer, moment: float) -> None:
        """Move a timer to a later moment, as if it were set anew."""
        self._timers_made = timer.number = self._timers_made + 1
        timer._when = moment  # type: ignore[attr-defined]

    def take_out(self, taken: Iterable[NumberedTimer]) -> None:
        """Let timers not fire, and bring the others in order."""
        for timer in taken:
            timer._scheduled = False  # type: ignore[attr-defined]
        self.timers[:] = [each for each in self.timers if each._scheduled]  # type: ignore[attr-defined]
        heapq.heapify(self.timers)

    def reach(self, moment: float) -> None:
        """Move the clock to the moment of a timer that fires, if that is still to come."""
        self._jumping.jump = max(self._jumping.jump, moment)

    def time(self) -> float:
        return self._jumping.jump

    def steady_time(self) -> float:
        return self._jumping.jump

    def wall_time(self) -> float:
        clock_of_machine = machine_clock.get()
        if clock_of_machine is None:
            return self._start + self._jumping.jump
        return self._start + self._jumping.jump + clock_of_machine.ahead

    def unset_time(self) -> float:
        """Return the wall time of a clock that is never set."""
        return self._start + self._jumping.jump


def _busy_tasks(limit: int = 5) -> str:
    """Return the names of tasks that are not done, those that are scheduled to run now first."""
    tasks = [task for task in asyncio.all_tasks() if not task.done()]
    tasks.sort(key=lambda task: (bool(getattr(task, "_fut_waiter", None)), task.get_name()))
    return ", ".join(task.get_name() for task in tasks[:limit])


def run(main: Coroutine[Any, Any, T], *, seed: int = 0, start: datetime = EPOCH) -> T:
    """Run ``main`` to its end on a fresh virtual-time loop and return its result."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(seed, start)) as runner:
        return runner.run(main)
