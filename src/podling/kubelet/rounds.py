"""The times at which a periodic task of the kubelet makes its rounds.

Over most runtimes a round follows each period, or each longer one where only what the kubelet does itself
can make a round find something new. A runtime that reports its changes (``runtime.changes``) makes nearly all
rounds needless: a round then follows only if something changed that it looks at, at the time at which the
periodic one would. So a skipped round is one that would have found everything as before.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from podling import clock
from podling.kubelet.deps import KubeletDeps
from podling.runtime.changes import Changes, ReportsChanges

TOLERANCE = 1e-9
"""The part of a period by which sums of floating numbers may be off."""


def reporting_runtime(deps: KubeletDeps) -> ReportsChanges | None:
    """Return the node's runtime if everything that the kubelet looks at changes only as it says.

    Files, where there are any, change by themselves.
    """
    runtime, config = deps.runtime, deps.config
    if config.write_files or not config.skip_idle_rounds or not isinstance(runtime, ReportsChanges):
        return None
    return runtime


class Rounds:
    """The rounds of one task.

    Args:
        period: the seconds between two rounds.
        deps: the node's runtime, and whether there are files.
        others: notes the changes of what does not come from the runtime.
        quiet_period: the seconds between two rounds over other runtimes as long as all is settled and
            ``others`` notes nothing; None: ``period``.
    """

    def __init__(
        self, period: float, deps: KubeletDeps, others: Changes, *, quiet_period: float | None = None
    ) -> None:
        self._period = period
        self._quiet_period = quiet_period
        self._offset = deps.config.rounds_offset
        self._runtime = reporting_runtime(deps)
        self._others = others
        self._due = asyncio.Event()
        self._timer: clock.Timer | None = None
        self._began = 0.0
        """The time from which the periods count: the end of the last round."""
        self._is_noted = False
        """Something has changed since the last round began."""
        self._is_waiting = False

    @contextmanager
    def follow(self) -> Iterator[None]:
        """Follow the changes while the task runs."""
        if self._runtime is None and self._quiet_period is None:
            yield
            return
        try:
            with ExitStack() as stack:
                if self._runtime is not None:
                    stack.enter_context(self._runtime.changes.listen(self._note))
                stack.enter_context(self._others.listen(self._note))
                yield
        finally:
            self._cancel()
            self._is_waiting = self._is_noted = False

    def request(self) -> None:
        """Make a round now."""
        self._due.set()

    async def next(
        self,
        *,
        settled: bool = True,
        within: float | None = None,
        report_period: float | None = None,
        pause: float | None = None,
    ) -> None:
        """Wait until the next round is due.

        Args:
            settled: the last round left nothing to do: another one would change nothing.
            within: the seconds after which a round is needed though nothing changes; None: never.
            report_period: the seconds between rounds of ``within`` that say nothing new; None: they may
                (``clock.call_report``).
            pause: the seconds to the next round, in place of the period and of everything else.
        """
        if pause is not None:
            await clock.wait_for(self._due, pause)
        else:
            self._began = clock.monotonic()
            self._is_waiting = True
            if self._runtime is None:
                await clock.wait_for(self._due, clock.aligned(self._next_period(settled), self._offset))
            else:
                if self._is_noted or not settled or not self._runtime.is_predictable():
                    self._schedule(0.0)
                elif within is not None:
                    self._schedule(within, report_period)
                await self._due.wait()
            self._is_waiting = self._is_noted = False
            self._cancel()
        self._due.clear()

    def _next_period(self, settled: bool) -> float:
        """Return the seconds to the next round over a runtime that does not report its changes."""
        if self._quiet_period is None or self._is_noted or not settled:
            return self._period
        return self._quiet_period

    def _note(self) -> None:
        """Schedule a round at the end of the present period; one after the present round, if there is one."""
        if self._is_noted:
            return
        self._is_noted = True
        if self._is_waiting:
            self._schedule(clock.monotonic() - self._began)

    def _schedule(self, seconds: float, report_period: float | None = None) -> None:
        """Make a round at the first end of a period that is no sooner than ``seconds`` after the last one."""
        left = max(0.0, self._began + self._periods(seconds) - clock.monotonic())
        self._cancel()
        if report_period is None:
            self._timer = clock.call_later(left, self._due.set)
        else:
            self._timer = clock.call_report(left, self._periods(report_period), self._due.set)

    def _periods(self, seconds: float) -> float:
        """Return the length of the periods that take at least so many seconds."""
        return max(1, math.ceil(seconds / self._period - TOLERANCE)) * self._period

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
