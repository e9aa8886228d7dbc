"""Dispatch of requests at the HTTP edge: each waits for its turn, for a quarter of its time at most.

Source: ``apiserver/pkg/util/flowcontrol/apf_filter.go``, ``apiserver/pkg/server/filters``
(``priority-and-fairness.go``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from podling import clock
from podling.apiserver.flowcontrol.flows import Flow, Flows
from podling.apiserver.flowcontrol.levels import Level
from podling.apiserver.flowcontrol.queue_set import QueueSet
from podling.apiserver.flowcontrol.queues import SHORT_SECONDS, Request
from podling.apiserver.flowcontrol.work_estimate import WorkEstimate

WAIT_SHARE = 4
"""A request waits for this fraction of its time at most."""
WAIT_SECONDS_MAX = 60.0
DELAY_SECONDS_MAX = 3.0


class TooManyRequests(Exception):
    """A request is rejected; its client is to repeat it after ``retry_after`` seconds.

    When there are many rejections, each is held back for ``delay`` seconds: a client that repeats its
    requests at once would otherwise cost as much as one whose requests are served.
    """

    def __init__(self, retry_after: int, delay: float = 0.0) -> None:
        super().__init__("Too many requests, please try again later.")
        self.retry_after, self.delay = retry_after, delay


class Turn:
    """The place of a request that is accounted for by itself, until ``close``."""

    __slots__ = ("_dispatcher", "_kind", "flow", "on_close", "request")

    def __init__(self, dispatcher: Dispatcher, flow: Flow, request: Request, *, watch: bool) -> None:
        self._dispatcher = dispatcher
        self._kind = "watch" if watch else "regular"
        self.flow = flow
        self.request: Request | None = request
        """The request while it waits or occupies seats."""
        self.on_close: Callable[[], None] | None = None

    async def wait(self, seconds: float) -> None:
        """Wait until the request is dispatched. Raises ``TooManyRequests`` if that takes too long.

        A cancellation, as when the client goes away, removes it from its queue.
        """
        request = self.request
        assert request is not None, "a request waits once"
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
            rejection = self._dispatcher.rejection(self.flow.level)
            raise TooManyRequests(rejection.retry_after)  # it has waited long enough
        request.counts.waits["true"].observe(request.started_at - request.arrived_at)

    def _leave(self, request: Request, *, timed_out: bool) -> None:
        if request.is_executing:  # dispatched in the same moment
            return
        self.request = None
        now = clock.machine_monotonic()
        request.counts.waits["true"].observe(now - request.arrived_at)  # "true" means that it was not refused
        self.flow.queue_set.cancel(request, now, timed_out=timed_out)

    def release(self) -> None:
        """Give the seats back; later calls do nothing."""
        request, now = self.request, clock.machine_monotonic()
        if request is not None:
            self.request = None
            request.counts.executions[self._kind].observe(now - request.started_at)
            self._dispatcher.finish(self.flow, request, now)

    def close(self, request: object, started_at: float, now: float) -> None:
        """End the request."""
        self.release()
        if self.on_close is not None:
            self.on_close()


class BriefPlace:
    """The place of the brief requests of a flow: those of one seat that need not wait."""

    __slots__ = ("_counts", "_dispatcher", "_queue_set")

    def __init__(self, dispatcher: Dispatcher, flow: Flow) -> None:
        self._dispatcher = dispatcher
        self._counts, self._queue_set = flow.counts, flow.queue_set

    def release(self) -> None:
        """Do nothing: the seat is given back at the end."""

    def close(self, request: object, started_at: float, now: float) -> None:
        """End one of the requests."""
        seconds = now - started_at
        if seconds <= SHORT_SECONDS:
            counts = self._counts
            counts.short += 1
            counts.short_seconds += seconds
        else:
            self._counts.observe_long(seconds)
        if self._queue_set.end_brief(request):
            self._dispatcher.end_turn(self._queue_set)


class Dispatcher:
    """Dispatches the requests of one server, as its ``flows`` say."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows
        flows.new_place, flows.on_full_turn = self.brief_place, self.end_turn
        self._ended: dict[QueueSet, list[tuple[Request, float]]] = {}
        """The queue sets in which seats are given back at the end of this turn of the event loop, with the
        requests that ended in it."""
        self._timers: dict[QueueSet, asyncio.TimerHandle] = {}

    def brief_place(self, flow: Flow) -> BriefPlace:
        """Return the place of the brief requests of ``flow``."""
        return BriefPlace(self, flow)

    def start(
        self, flow: Flow, estimate: WorkEstimate, now: float, *, watch: bool = False, details: object = None
    ) -> Turn:
        """Take in a request, which then executes or waits. Raises ``TooManyRequests``."""
        counts, seats = flow.counts, estimate.max_seats
        counts.seats.observe(seats)
        wide = estimate.initial_seats > 1
        found = flow.queue_set.start(counts, estimate, flow.hash, now, wide=wide)
        if isinstance(found, str):
            counts.waits["false"].observe(0)
            raise self.rejection(flow.level)
        found.flow, found.details = flow, details
        if found.is_executing and not flow.level.is_exempt:
            counts.waits["true"].observe(0)
        if found.queue is not None:
            counts.queue_lengths.observe(len(found.queue.waiting) or 1)
            if flow.queue_set.is_turn_full:
                self.end_turn(flow.queue_set)
        return Turn(self, flow, found, watch=watch)

    def finish(self, flow: Flow, request: Request, ended_at: float) -> None:
        """Give back a request's seats at the end of this turn of the event loop."""
        self.end_turn(flow.queue_set).append((request, ended_at))

    def end_turn(self, queue_set: QueueSet) -> list[tuple[Request, float]]:
        """Begin a new turn of ``queue_set`` after this one; return the list of ended requests."""
        ended = self._ended.get(queue_set)
        if ended is None:
            if not self._ended:
                asyncio.get_running_loop().call_soon(self._end_turn)
            ended = self._ended[queue_set] = []
        return ended

    def rejection(self, level: Level) -> TooManyRequests:
        """Count a rejection, and return it."""
        level.dropped.record(int(clock.now().timestamp()))
        after = level.dropped.retry_after
        return TooManyRequests(after, min(after - 1, DELAY_SECONDS_MAX))

    def adjust(self) -> None:
        """Adjust what levels lend and borrow."""
        self._flows.catch_up()
        self._flows.levels.adjust(clock.machine_monotonic())

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end_turn(self) -> None:
        ended, self._ended = self._ended, {}
        now = clock.machine_monotonic()
        for queue_set, requests in ended.items():
            for request, ended_at in requests:
                queue_set.finish(request, ended_at, now)
            queue_set.end_turn(now)
            self._watch_release(queue_set)

    def _watch_release(self, queue_set: QueueSet) -> None:
        """Set a timer for the seats that requests occupy after their end."""
        due = queue_set.next_release
        if due is not None and queue_set not in self._timers:
            loop = asyncio.get_running_loop()
            wait = max(0.0, due - clock.machine_monotonic())
            self._timers[queue_set] = loop.call_later(wait, self._release, queue_set)

    def _release(self, queue_set: QueueSet) -> None:
        del self._timers[queue_set]
        queue_set.release_due(clock.machine_monotonic())
        self._watch_release(queue_set)


def wait_seconds(deadline: float, arrived_at: float) -> float:
    """Return how long a request may wait whose time is over at ``deadline``."""
    return min((deadline - arrived_at) / WAIT_SHARE, WAIT_SECONDS_MAX)
