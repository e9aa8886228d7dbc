"""A clock that stands still until it is wound: its timers, and the ways to let its time pass.

The clock paces the cluster's time. It stands still, flows at a multiple of the machine's time, or is being
wound: then it jumps from timer to timer as soon as the loop has nothing else to do. It never jumps while a
request of a client is in work, nor for a moment after a client was sent something or sent something itself,
so that an operator outside of the process reacts at the time at which things happen.

Rounds (``call_round``) find nothing to do where nothing has happened. In an idle cluster the clock leaps over
them: to shortly before the next other timer, or the end of the winding, where each of them is made once,
heartbeats first. ``may_leap`` says whether the cluster is idle; and no client was sent anything for a while.
Of reports (``call_report``), which show their times, the last one before that moment is made at its time, and
the clock leaps on from there.

The loop (``podling.sim.wound_loop``) calls ``idle`` whenever it would wait for its sockets.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from msgspec import Struct

HOLD_SECONDS_MAX = 10.0
"""A request in work stops the winding for at most so many seconds of the machine's time."""
SETTLE_SECONDS = 0.01
"""The default wait for the reactions of clients, in seconds of the machine's time."""
SPEED_MAX = 100_000.0
LEAP_SECONDS_MAX = 86_400.0
"""The longest time in which rounds are passed over."""
LANDING_SECONDS = 15.0
"""The last seconds before an event, or the end of a winding, in which all rounds are made: they leave the
cluster as without a leap. They are made in as many seconds at its begin, too, where clients that they wake
show themselves."""
WATCHED_SECONDS = 15.0
"""The time in which all rounds are made after a client was sent something, or sent something. It is longer
than the pause between two heartbeats, so that a client that is sent each of them goes on to see each."""

T = TypeVar("T")


class WoundTimer:
    """A call at a moment of the wound clock. ``cancel`` it as long as it has not been made."""

    __slots__ = ("arguments", "callback", "period", "when")

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        arguments: tuple[object, ...],
        period: float = math.inf,
    ) -> None:
        self.when = when
        self.callback: Callable[..., object] | None = callback
        self.arguments = arguments
        self.period = period
        """A leap may postpone it by whole periods."""

    def cancel(self) -> None:
        self.callback, self.arguments = None, ()

    def run(self) -> None:
        if self.callback is not None:
            self.callback(*self.arguments)


_Timers = list[tuple[float, int, WoundTimer]]


def _head(timers: _Timers) -> tuple[float, int, WoundTimer] | None:
    """Return the first timer that was not cancelled."""
    while timers and timers[0][2].callback is None:
        heapq.heappop(timers)
    return timers[0] if timers else None


def _order_of(found: tuple[tuple[float, int, WoundTimer], _Timers]) -> tuple[float, int]:
    return found[0][:2]


class Hold:
    """A request in work; the clock is not wound past it until ``cancel``.

    ``waits`` is the number of its parts that wait for time themselves, and let it pass meanwhile.
    """

    __slots__ = ("_release", "is_over", "since", "waits")

    def __init__(self, release: Callable[[Hold], None], since: float) -> None:
        self._release = release
        self.since = since
        self.waits = 0
        self.is_over = False

    def cancel(self) -> None:
        self.is_over = True
        self._release(self)


class Status(Struct, frozen=True, rename="camel"):
    """The state of a wound clock."""

    now: datetime
    mode: str
    """``paused``, ``winding`` or ``running``."""
    speed: float
    """Cluster seconds for each second of the machine; 0 where time stands still."""
    target: datetime | None = None
    """The moment up to which it is being wound."""
    next_timer: datetime | None = None
    """The moment at which something happens next."""
    requests_in_work: int = 0


class Winding:
    """The wound clock of one loop.

    Args:
        start: the wall time at which it begins, in seconds since 1970.
        machine: returns the machine's monotonic time.
        call_soon: runs a callback in the loop's next turn.
    """

    def __init__(self, start: float, machine: Callable[[], float], call_soon: Callable[..., object]) -> None:
        self.settle_seconds = SETTLE_SECONDS
        self._start = start
        self._machine = machine
        self._call_soon = call_soon
        self.may_leap: Callable[[], bool] = bool
        """Returns whether rounds may be passed over now."""
        self._timers: _Timers = []
        self._rounds: _Timers = []
        self._heartbeats: _Timers = []
        self._reports: _Timers = []
        self._has_leapt = False
        """Rounds that a leap has passed over are still to be made."""
        self._watched_until = 0.0
        self._moved_at = -math.inf
        """The machine's time of the last move of a winding."""
        self._order = count()
        self._holds: dict[Hold, None] = {}
        self._active_at = -math.inf
        self._now = 0.0
        """The time up to ``_since``."""
        self._since = machine()
        self._speed = 0.0
        self._target: float | None = None
        self._reached: asyncio.Future[None] | None = None
        self._turn = asyncio.Lock()

    def steady_time(self) -> float:
        """Return the cluster's seconds since the start."""
        if not self._speed or self._target is not None:
            return self._now
        return self._now + (self._machine() - self._since) * self._speed

    def wall_time(self) -> float:
        return self._start + self.steady_time()

    def call_later(self, seconds: float, callback: Callable[..., object], *arguments: object) -> WoundTimer:
        """Call ``callback`` after so many seconds of the cluster's time."""
        return self._add(self._timers, seconds, callback, arguments)

    def call_round(
        self, seconds: float, callback: Callable[..., object], *arguments: object, is_heartbeat: bool = False
    ) -> WoundTimer:
        """Call ``callback`` after so many seconds, or later if the clock leaps."""
        return self._add(self._heartbeats if is_heartbeat else self._rounds, seconds, callback, arguments)

    def call_report(
        self, seconds: float, period: float, callback: Callable[..., object], *arguments: object
    ) -> WoundTimer:
        """Call ``callback`` after so many seconds, or whole periods later if the clock leaps."""
        return self._add(self._reports, seconds, callback, arguments, period)

    def _add(
        self,
        timers: _Timers,
        seconds: float,
        callback: Callable[..., object],
        arguments: tuple[object, ...],
        period: float = math.inf,
    ) -> WoundTimer:
        timer = WoundTimer(self.steady_time() + max(0.0, seconds), callback, arguments, period)
        heapq.heappush(timers, (timer.when, next(self._order), timer))
        return timer

    def hold(self) -> Hold:
        """Note a request in work, until its result is cancelled."""
        hold = Hold(self._release, self._machine())
        self._holds[hold] = None
        return hold

    def _release(self, hold: Hold) -> None:
        if self._holds.pop(hold, hold) is None:
            self.note_activity()  # the client gets its answer now

    @contextmanager
    def set_aside(self, hold: Hold) -> Iterator[bool]:
        """Let time pass although a request is in work: it waits for time itself.

        The value is false if the request is over already.
        """
        if hold.is_over:
            yield False
            return
        hold.waits += 1
        self._holds.pop(hold, None)
        try:
            yield True
        finally:
            hold.waits -= 1
            if not hold.waits and not hold.is_over:
                hold.since = self._machine()
                self._holds[hold] = None

    async def wind_to(self, moment: float) -> None:
        """Wind the clock to a moment of ``steady_time`` where it stands still, after other windings."""
        async with self._turn:
            seconds = moment - self.steady_time()
            if not self._speed and seconds > 0:
                async with self._winding(seconds) as reached:
                    await reached

    def note_activity(self) -> None:
        """Note that a client was sent something, or sent something."""
        self._active_at = self._machine()

    def idle(self) -> float | None:
        """Move the clock on, as far as it may; called when the loop has nothing to do.

        Returns the seconds of the machine's time until it is to be called again at the latest: 0 if calls
        have become due, None if the clock needs no further call.
        """
        if self._run_due():
            return 0
        if self._target is None:
            return self._until_next() if self._speed else None
        if wait := self._wait_for_clients():
            return wait
        when = self._next()
        if when is None or when > self._target:
            self._now = self._target
            self._arrive()
        else:
            self._now = max(self._now, self._move_to(when, self._target))
            self._moved_at = self._machine()
            self._run_due()
        return 0

    def _move_to(self, when: float, target: float) -> float:
        """Return the moment to which a winding goes: that of the next timer, or a later one after a leap."""
        event = _head(self._timers)
        following = target if event is None else min(event[0], target)
        end = min(following - LANDING_SECONDS, self._now + LEAP_SECONDS_MAX)
        if self._active_at > self._moved_at:
            self._watched_until = self._now + WATCHED_SECONDS
        if end <= when or self._now < self._watched_until or not self.may_leap():
            return when
        self._has_leapt = True
        self._postpone_reports(end)
        report = _head(self._reports)
        return end if report is None else min(end, report[0])

    def _postpone_reports(self, end: float) -> None:
        """Make of each report only the last one up to ``end``."""
        reports, self._reports = sorted(self._reports), []
        for when, order, timer in reports:
            if timer.callback is None:
                continue
            if (periods := (end - when) // timer.period) >= 1:
                # As if it had been made until then, it follows what was set before.
                timer.when, order = when + periods * timer.period, next(self._order)
            heapq.heappush(self._reports, (timer.when, order, timer))

    def status(self) -> Status:
        """Return the state of the clock."""
        following, target = self._next(), self._target
        winding = target is not None
        return Status(
            now=self._moment(self.steady_time()),
            mode="winding" if winding else "running" if self._speed else "paused",
            speed=self._speed,
            target=None if target is None or target == math.inf else self._moment(target),
            next_timer=None if following is None else self._moment(following),
            requests_in_work=len(self._holds),
        )

    def set_speed(self, speed: float) -> None:
        """Let time flow at ``speed`` times the machine's; 0 pauses it. Raises ``ValueError``."""
        if not 0 <= speed <= SPEED_MAX:
            raise ValueError(f"the speed must be between 0 and {SPEED_MAX:,.0f}")
        self._now, self._since = self.steady_time(), self._machine()
        self._speed = speed
        self._arrive()

    async def advance(self, seconds: float) -> None:
        """Wind the clock by so many seconds, as fast as what happens meanwhile can be computed.

        Another winding is waited for first. Cancelling it, or ``set_speed``, ends it where it is.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError("time cannot go back")
        async with self._wound_by(seconds) as reached:
            await reached

    async def run_until(self, condition: Coroutine[Any, Any, object], at_most: float = math.inf) -> bool:
        """Wind the clock until ``condition`` has come, at most so many seconds; return whether it came."""
        met = asyncio.create_task(condition)
        try:
            async with self._wound_by(at_most) as reached:
                await asyncio.wait((met, reached), return_when=asyncio.FIRST_COMPLETED)
            if met.done():
                met.result()
            return met.done()
        finally:
            met.cancel()

    async def run_while(self, work: Coroutine[Any, Any, T]) -> T:
        """Wind the clock until ``work`` has ended, and return its result."""
        task = asyncio.create_task(work)
        await self.run_until(asyncio.wait((task,)))
        return await task

    @asynccontextmanager
    async def _wound_by(self, seconds: float) -> AsyncIterator[asyncio.Future[None]]:
        """Wind until the block ends; its value is done when so many seconds have passed."""
        async with self._turn, self._winding(seconds) as reached:
            yield reached

    @asynccontextmanager
    async def _winding(self, seconds: float) -> AsyncIterator[asyncio.Future[None]]:
        """``_wound_by`` for a caller that has the turn."""
        self._now = self.steady_time()
        self._target = self._now + seconds
        self._watched_until = max(self._watched_until, self._now + LANDING_SECONDS)
        self._reached = reached = asyncio.get_running_loop().create_future()
        try:
            yield reached
        finally:
            self._since = self._machine()
            self._arrive()

    def _arrive(self) -> None:
        self._target, reached, self._reached = None, self._reached, None
        self._since = self._machine()
        if reached is not None and not reached.done():
            reached.set_result(None)

    def _run_due(self) -> bool:
        """Run the timers whose time has come; return whether there were any."""
        now = self.steady_time()
        if self._has_leapt:
            # Each kind has the loop to itself, so that rounds see the heartbeats, and events both.
            if self._run_until(now, self._heartbeats) or self._run_until(now, self._rounds):
                return True
            self._has_leapt = False
        return self._run_until(now, self._heartbeats, self._rounds, self._reports, self._timers)

    def _run_until(self, now: float, *kinds: _Timers) -> bool:
        """Run what is due of some kinds of timers, in its order; return whether there was any."""
        found = False
        while heads := [(head, timers) for timers in kinds if (head := _head(timers)) and head[0] <= now]:
            _, timers = min(heads, key=_order_of)
            self._call_soon(heapq.heappop(timers)[2].run)
            found = True
        return found

    def _next(self) -> float | None:
        """Return the moment of the next timer."""
        heads = map(_head, (self._heartbeats, self._rounds, self._reports, self._timers))
        return min((head[0] for head in heads if head is not None), default=None)

    def _until_next(self) -> float | None:
        when = self._next()
        return None if when is None else max(0.0, when - self.steady_time()) / self._speed

    def _wait_for_clients(self) -> float:
        """Return how long clients are waited for: those with requests in work, and those that may react."""
        now = self._machine()
        newest = next(reversed(self._holds), None)
        held = 0.0 if newest is None else newest.since + HOLD_SECONDS_MAX - now
        return max(0.0, held, self._active_at + self.settle_seconds - now)

    def _moment(self, steady: float) -> datetime:
        return datetime.fromtimestamp(self._start + steady, UTC)
