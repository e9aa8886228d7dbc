"""Leaps of virtual time over the rounds of an idle cluster.

The rules are those of ``podling.winding``: rounds find nothing to do where nothing has happened, so time
moves on to shortly before the next event at once. There each of the rounds that were passed over is made
once, heartbeats first, each kind with the loop to itself. From then on all rounds are made, so that parts
which look for heartbeats know of them as without a leap. Of reports, which show their times, the last one
before that moment is made at its time, and time leaps on from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from podling.sim.idle.timers import Kind, NumberedTimer
from podling.winding import LANDING_SECONDS, LEAP_SECONDS_MAX

if TYPE_CHECKING:
    from podling.sim.loop import VirtualTimeLoop

LEAP_SECONDS_MIN = 20.0
"""A shorter leap saves nothing."""
LOOK_SECONDS = 5.0
"""The time between two questions whether time may leap: the answer takes a look at every node."""
JUST_BEFORE_SECONDS = 1e-6
"""The time by which passed rounds are made before that to which time leaps."""


class Leaps:
    """The rounds and reports of one loop, and the leaps over them."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self.may_leap: Callable[[], bool] = bool
        """Returns whether rounds may be passed over now."""
        self.limit = math.inf
        """A moment that no leap passes over, like an event."""
        self.next_event = math.inf
        """Of the events in the future none is earlier."""
        self._asked_at = -math.inf
        self._passed: list[list[NumberedTimer]] = []
        """The rounds that are still to be made, those of a kind together."""

    def call_round(
        self, seconds: float, callback: Callable[..., object], *arguments: object, is_heartbeat: bool = False
    ) -> NumberedTimer:
        """Call ``callback`` after so many seconds, or later if time leaps."""
        kind = Kind.HEARTBEAT if is_heartbeat else Kind.ROUND
        return self._loop.add_timer(self._loop.steady_time() + seconds, callback, arguments, kind=kind)

    def call_report(
        self, seconds: float, period: float, callback: Callable[..., object], *arguments: object
    ) -> NumberedTimer:
        """Call ``callback`` after so many seconds, or whole periods later if time leaps."""
        when = self._loop.steady_time() + seconds
        return self._loop.add_timer(when, callback, arguments, kind=Kind.REPORT, period=period)

    def make_passed(self) -> bool:
        """Make the rounds of one kind that a leap has passed over; return whether there were any."""
        if not self._passed:
            return False
        for timer in self._passed.pop(0):
            if not timer.cancelled():
                self._loop.call_soon(timer._run)
        return True

    def leap(self, now: float) -> float | None:
        """Leap from ``now``, if that is possible; return the moment to which time moves."""
        timers = self._loop.timers
        if timers[0].kind is Kind.EVENT or now < self._asked_at + LOOK_SECONDS:
            return None
        if self.next_event <= now:
            events = (each.when() for each in timers if each.kind is Kind.EVENT and not each.cancelled())
            self.next_event = min(events, default=math.inf)
        end = min(min(self.next_event, self.limit) - LANDING_SECONDS, now + LEAP_SECONDS_MAX)
        if end - now >= LEAP_SECONDS_MIN and self.may_leap():
            reports = _last_reports(timers, end)
            end = min([end, *(moment for _, moment in reports)])
            if end - now >= LEAP_SECONDS_MIN:
                self._pass_over(reports, end)
                return end - JUST_BEFORE_SECONDS
        self._asked_at = now
        return None

    def _pass_over(self, reports: Sequence[tuple[NumberedTimer, float]], end: float) -> None:
        """Postpone reports to the moments beside them, and take out the rounds up to ``end``."""
        for timer, moment in reports:
            if moment > timer.when():
                self._loop.postpone(timer, moment)
        passed: dict[Kind, list[NumberedTimer]] = {Kind.HEARTBEAT: [], Kind.ROUND: []}
        for timer in sorted(self._loop.timers):
            if timer.kind in passed and timer.when() < end and not timer.cancelled():
                passed[timer.kind].append(timer)
        self._passed = [timers for timers in passed.values() if timers]
        self._loop.take_out([timer for timers in self._passed for timer in timers])


def _last_reports(timers: Iterable[NumberedTimer], end: float) -> list[tuple[NumberedTimer, float]]:
    """Return the reports up to ``end`` with the last moments at which they are due until then."""
    return [
        (timer, timer.when() + (end - timer.when()) // timer.period * timer.period)
        for timer in sorted(timers)
        if timer.kind is Kind.REPORT and timer.when() <= end and not timer.cancelled()
    ]
