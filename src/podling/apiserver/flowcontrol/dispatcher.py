"""Dispatch of requests at the HTTP edge: each waits for its turn, for a quarter of its time at most.

A request that never waits for anything runs in one piece of the event loop, and would be gone before another
one could compete with it. So seats are given back at the end of a turn of the loop: in one turn, a level
starts as many requests as it has seats, and the next turn's are chosen fairly.

Source: ``apiserver/pkg/util/flowcontrol/apf_filter.go``, ``apiserver/pkg/server/filters``
(``priority-and-fairness.go``).
"""

from __future__ import annotations

import asyncio

from podling import clock
from podling.apiserver.flowcontrol.flows import Flow, Flows
from podling.apiserver.flowcontrol.levels import Level
from podling.apiserver.flowcontrol.queue_set import QueueSet
from podling.apiserver.flowcontrol.queues import Request
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate

WAIT_SHARE = 4
"""A request waits for this fraction of its time at most."""
WAIT_SECONDS_MAX = 60.0
ADJUSTMENT_SECONDS = 10.0
"""Period of the adjustments of what levels lend and borrow."""


class TooManyRequests(Exception):
    """A request is rejected; its client is to repeat it after ``retry_after`` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("Too many requests, please try again later.")
        self.retry_after = retry_after


class Turn:
    """A request's place in its priority level, until ``end``."""

    __slots__ = ("_dispatcher", "_kind", "flow", "request")

    def __init__(self, dispatcher: Dispatcher, flow: Flow, request: Request, kind: str) -> None:
        self._dispatcher = dispatcher
        self._kind = kind
        self.flow = flow
        self.request: Request | None = request

    @property
    def is_waiting(self) -> bool:
        return self.request is not None and not self.request.is_executing

    async def wait(self, seconds: float) -> None:
        """Wait until the request is dispatched. Raises ``TooManyRequests`` if that takes too long.

        A cancellation, as when the client goes away, removes it from its queue.
        """
        request = self.request
        if request is None or request.is_executing:
            return
        loop = asyncio.get_running_loop()
        request.waiter = loop.create_future()
        timer = loop.call_later(seconds, request.wake)
        try:
            await request.waiter
        except asyncio.CancelledError:
            self._leave(request, timed_out=False)
            raise
        finally:
            timer.cancel()
        if not request.is_executing:
            self._leave(request, timed_out=True)
            raise self._dispatcher.rejection(self.flow.level)
        request.counts.waits["true"].observe(request.started_at - request.arrived_at)

    def _leave(self, request: Request, *, timed_out: bool) -> None:
        if request.is_executing:  # dispatched in the same moment
            self.end(clock.monotonic())
            return
        self.request = None
        now = clock.monotonic()
        request.counts.waits["true"].observe(now - request.arrived_at)  # "true" means that it was not refused
        for each in self.flow.level.queue_set.cancel(request, now, timed_out=timed_out):
            each.wake()

    def end(self, now: float) -> None:
        """Give the seats back. Does nothing the second time."""
        request = self.request
        if request is None:
            return
        self.request = None
        request.counts.executions[self._kind].observe(now - request.started_at)
        self._dispatcher.finish(self.flow.level, request, now)


class Dispatcher:
    """Dispatches the requests of one server, as its ``flows`` say."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows
        self._ended: list[tuple[QueueSet, Request, float]] = []
        """Requests that ended in this turn of the event loop."""
        self._timers: dict[QueueSet, asyncio.TimerHandle] = {}

    def start(
        self, flow: Flow, estimate: WorkEstimate, now: float, *, watch: bool = False, details: object = None
    ) -> Turn:
        """Take in a request, which then executes or waits. Raises ``TooManyRequests``."""
        level, counts = flow.level, flow.counts
        if estimate is ONE_SEAT:
            counts.one_seat += 1
            found = level.queue_set.start(counts, estimate, flow.hash, now)
        else:
            counts.seats.observe(estimate.max_seats)
            wide = estimate.initial_seats > 1
            found = level.queue_set.start(counts, estimate, flow.hash, now, wide=wide)
        if isinstance(found, str):
            counts.waits["false"].observe(0)
            raise self.rejection(level)
        found.flow, found.details = flow, details
        if found.is_executing:
            counts.immediate += 1
        elif found.queue is not None:
            counts.queue_lengths.observe(len(found.queue.waiting))
        return Turn(self, flow, found, "watch" if watch else "regular")

    def finish(self, level: Level, request: Request, ended_at: float) -> None:
        """Give back a request's seats at the end of this turn of the event loop."""
        if level.is_exempt:
            level.queue_set.finish(request, ended_at, ended_at)
            self._watch_release(level.queue_set)
            return
        self._ended.append((level.queue_set, request, ended_at))
        if len(self._ended) == 1:
            asyncio.get_running_loop().call_soon(self._end_turn)

    def rejection(self, level: Level) -> TooManyRequests:
        """Count a rejection, and return it."""
        level.dropped.record(int(clock.now().timestamp()))
        return TooManyRequests(level.dropped.retry_after)

    async def run(self) -> None:
        """Adjust what levels lend and borrow, for ever."""
        while True:
            await clock.sleep(ADJUSTMENT_SECONDS)
            self._flows.catch_up()
            for request in self._flows.levels.adjust(clock.monotonic()):
                request.wake()

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end_turn(self) -> None:
        ended, self._ended = self._ended, []
        now = clock.monotonic()
        touched: dict[QueueSet, None] = {}
        for queue_set, request, ended_at in ended:
            queue_set.finish(request, ended_at, now)
            touched[queue_set] = None
        for queue_set in touched:
            if queue_set.requests_waiting:
                for request in queue_set.dispatch(now):
                    request.wake()
            self._watch_release(queue_set)

    def _watch_release(self, queue_set: QueueSet) -> None:
        """Set a timer for the seats that requests occupy after their end."""
        due = queue_set.next_release
        if due is not None and queue_set not in self._timers:
            loop = asyncio.get_running_loop()
            wait = max(0.0, due - clock.monotonic())
            self._timers[queue_set] = loop.call_later(wait, self._release, queue_set)

    def _release(self, queue_set: QueueSet) -> None:
        del self._timers[queue_set]
        for request in queue_set.release_due(clock.monotonic()):
            request.wake()
        self._watch_release(queue_set)


def wait_seconds(deadline: float | None, arrived_at: float) -> float:
    """Return how long a request may wait; ``deadline``: when its time is over, if it has one."""
    if deadline is None:
        return WAIT_SECONDS_MAX / WAIT_SHARE
    return min((deadline - arrived_at) / WAIT_SHARE, WAIT_SECONDS_MAX)
