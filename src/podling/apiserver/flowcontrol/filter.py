"""API priority and fairness as a stage of each HTTP request: after authentication, before authorisation.

Source: ``apiserver/pkg/server/filters/priority-and-fairness.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from podling import clock
from podling.apiserver.arrivals import Arrivals
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.flowcontrol.debug_pages import PREFIX, debug_page
from podling.apiserver.flowcontrol.dispatcher import Dispatcher, Turn, wait_seconds
from podling.apiserver.flowcontrol.flows import Flow, Flows
from podling.apiserver.flowcontrol.inflight_limits import InflightLimits
from podling.apiserver.flowcontrol.metrics import FlowMetrics
from podling.apiserver.flowcontrol.queue_set import QueueSet
from podling.apiserver.flowcontrol.watch_counts import WatchCounts
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from podling.apiserver.flowcontrol.work_estimator import CHANGES, WorkEstimator, estimate_of_path
from podling.apiserver.http.exchange import HttpRequest
from podling.client.requests import Target, User
from podling.store.base import Store

ADJUSTMENT_SECONDS = 10.0
"""Period of the adjustments of what levels lend and borrow."""
LATE_SECONDS = 1.0
"""Requests that take longer than they may are looked for at this interval."""
BODY_SECONDS = 10.0
"""The time for a large body to arrive while other requests wait for the seats that it holds."""
LONG_RUNNING = ("attach", "exec", "log", "portforward", "proxy")
"""Subresources whose requests take no seats, also those of aggregated servers."""
READS = ("get", "list", "watch")


class KnownFlow:
    """The flow of one user's requests of one verb and target, as of a version of the configuration."""

    __slots__ = ("flow", "user", "version")
    flow: Flow

    def __init__(self) -> None:
        self.user: User | None = None
        self.version = -1


class PriorityAndFairness:
    """Lets requests begin when it is their turn. Without flow schemas, fixed limits hold instead.

    Args:
        arrivals: the requests that are to come here.
    """

    def __init__(self, flows: Flows, store: Store, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self.flows = flows
        self.dispatcher = Dispatcher(flows)
        self._estimator = WorkEstimator(store)
        self.metrics = FlowMetrics(lambda: flows.levels if flows.following else None)
        self.limits = InflightLimits()
        """The limits that hold without flow schemas."""

    @property
    def watches(self) -> WatchCounts:
        """The open watches, by what they select."""
        return self._estimator.watches

    def page(self, request: HttpRequest) -> str | None:
        """Return the debug page at a request's path; None if there is none."""
        if not request.path.startswith(PREFIX) or not self.flows.following:
            return None
        self.flows.catch_up()
        now = clock.machine_monotonic()
        return debug_page(self.flows.levels, request.path, request.query, clock.now(), now)

    async def run(self) -> None:
        """Adjust what levels lend and borrow, and end requests whose time is over, for ever."""
        due = clock.machine_monotonic() + clock.aligned(ADJUSTMENT_SECONDS)
        while True:
            if self._is_idle():
                await self._arrivals.wait(due - clock.machine_monotonic())
            else:
                await clock.machine_sleep(LATE_SECONDS)
            now = clock.machine_monotonic()
            self.end_late(now)
            if now >= due:
                self.dispatcher.adjust()
                due = now + clock.aligned(ADJUSTMENT_SECONDS)

    def _is_idle(self) -> bool:
        return all(level.queue_set.is_idle for level in self.flows.levels.by_name.values())

    def end_late(self, now: float) -> None:
        """End the requests whose time is over, as far as they have a place in a level."""
        if not self.flows.following:
            return
        for level in self.flows.levels.by_name.values():
            if level.queue_set.is_idle:
                continue
            late = []
            for request in level.queue_set.brief:
                if request.deadline > now:
                    break  # they are in the order of their arrival
                late.append(request)
            others = [each.details for each in level.queue_set.requests() if each.details is not None]
            late += [each for each in others if each.deadline <= now]
            if level.queue_set.requests_waiting:
                late += _slow_bodies(level.queue_set, now)
            for request in late:
                if "Upgrade" not in request.headers:
                    request.end_late()

    def close(self) -> None:
        self.dispatcher.close()

    def begin(
        self, request: HttpRequest, user: User, verb: str, target: Target, known: KnownFlow
    ) -> Awaitable[None] | None:
        """Take in a request for a resource; return what it is to wait for, if anything.

        Raises ``TooManyRequests``, as the wait does.

        Args:
            known: the flow of the last request of the same verb and target.
        """
        flows = self.flows
        if flows.watch is None:
            request.place = self.limits.enter(user, changes=verb not in READS, long_running=verb == "watch")
            return None
        if flows.watch.behind:
            flows.catch_up()
        if known.user is user and known.version == flows.version:
            flow = known.flow
        else:
            flow = known.flow = flows.of_target(user, verb, target)
            known.user, known.version = user, flows.version
        request.flow, request.user = flow, user
        estimate = ONE_SEAT
        if verb != "get":
            if verb not in CHANGES:
                return self._begin_list(request, flow, verb, target)
            estimate = self._estimator.of_change(flow.level, flow.counts, verb, target, request)
        if estimate is ONE_SEAT and flow.queue_set.start_brief(request, flow):
            request.place = flow.brief_place
            return None
        return self._start(request, flow, estimate)

    async def _begin_list(self, request: HttpRequest, flow: Flow, verb: str, target: Target) -> None:
        watch, selector = verb == "watch", ""
        estimate = await self._estimator.of_list(flow.level, target, request, watch=watch)
        wait = self._start(request, flow, estimate, watch=watch)
        if wait is not None:
            await wait
        if watch and isinstance(request.place, Turn):
            if request.query_string:
                selector = request.query.get("fieldSelector", "")
            if (key := self.watches.register(target, selector)) is not None:
                request.place.on_close = partial(self.watches.forget, key)

    def begin_path(self, request: HttpRequest, user: User, asked: Attributes) -> Awaitable[None] | None:
        """Take in a request for a path that is served here as no resource, as ``begin`` does."""
        if asked.subresource in LONG_RUNNING:
            return None
        watch = asked.verb == "watch"
        if not self.flows.following:
            request.place = self.limits.enter(user, changes=asked.verb not in READS, long_running=watch)
            return None
        flow = self.classify(request, user, asked)
        estimate = estimate_of_path(flow.level, asked.path)
        return self._start(request, flow, estimate, watch=watch)

    def classify(self, request: HttpRequest, user: User, asked: Attributes) -> Flow:
        """Return the flow of a request; its response is to name it."""
        self.flows.catch_up()
        flow = self.flows.of(user, asked)
        request.flow, request.user = flow, user
        return flow

    def _start(
        self, request: HttpRequest, flow: Flow, estimate: WorkEstimate, *, watch: bool = False
    ) -> Awaitable[None] | None:
        if estimate is ONE_SEAT and not watch and flow.queue_set.start_brief(request, flow):
            request.place = flow.brief_place
            return None
        now = clock.machine_monotonic()
        turn = self.dispatcher.start(flow, estimate, now, watch=watch, details=request)
        request.place, started = turn, turn.request
        if started is None or started.is_executing:
            return None
        return turn.wait(wait_seconds(request.deadline, now))


def _slow_bodies(queue_set: QueueSet, now: float) -> list[HttpRequest]:
    """Return the requests that occupy many seats, and whose bodies take too long to arrive."""
    return [
        each.details
        for each in queue_set.requests()
        if each.wide
        and each.is_executing
        and now - each.started_at >= BODY_SECONDS
        and each.details is not None
        and not each.details.content.is_eof()
    ]
