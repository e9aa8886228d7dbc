"""Metrics of priority and fairness, with the names of Kubernetes.

Upstream's timing histograms (utilisation, sampled every nanosecond) are missing: brief requests are not
accounted for one by one. Source: ``apiserver/pkg/util/flowcontrol/metrics/metrics.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podling.apiserver.flowcontrol.levels import Level, Levels
from podling.apiserver.flowcontrol.queues import SEAT_SECOND, SHORT_SECONDS, SchemaCounts
from podling.apiserver.flowcontrol.requests import is_change
from podling.machinery.histograms import Histogram, counters, gauges, histograms

PREFIX = "apiserver_flowcontrol_"
LEVEL, SCHEMA = "priority_level", "flow_schema"
_BOTH = (LEVEL, SCHEMA)

_Pair = tuple[str, str]
_Of = Callable[[Level, SchemaCounts, int], float]
"""A value of a flow schema in a level, of which so many brief requests are executing."""

_GAUGES: tuple[tuple[str, str, _Of], ...] = (
    (
        "current_inqueue_requests",
        "[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem",
        lambda level, counts, brief: counts.waiting,
    ),
    (
        "current_inqueue_seats",
        "[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness subsystem",
        lambda level, counts, brief: counts.waiting_seats,
    ),
    (
        "current_executing_requests",
        "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the "
        "API Priority and Fairness subsystem",
        lambda level, counts, brief: counts.executing + brief,
    ),
    (
        "current_executing_seats",
        "[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a "
        "WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
        lambda level, counts, brief: counts.executing_seats + brief,
    ),
)

_LEVEL_GAUGES: tuple[tuple[str, str, Callable[[Level], float]], ...] = (
    ("current_r", "[ALPHA] R(time of last change)", lambda level: level.queue_set.r / SEAT_SECOND),
    (
        "dispatch_r",
        "[ALPHA] R(time of last dispatch)",
        lambda level: level.queue_set.last_dispatch.r / SEAT_SECOND,
    ),
    (
        "latest_s",
        "[ALPHA] S(most recently dispatched request)",
        lambda level: level.queue_set.last_dispatch.s / SEAT_SECOND,
    ),
    (
        "nominal_limit_seats",
        "[BETA] Nominal number of execution seats configured for each priority level",
        lambda level: level.limits.nominal,
    ),
    (
        "lower_limit_seats",
        "[ALPHA] Configured lower bound on number of execution seats available to each priority level",
        lambda level: level.limits.lower,
    ),
    (
        "upper_limit_seats",
        "[ALPHA] Configured upper bound on number of execution seats available to each priority level",
        lambda level: level.limits.upper,
    ),
    (
        "current_limit_seats",
        "[ALPHA] current derived number of execution seats available to each priority level",
        lambda level: level.queue_set.limit,
    ),
    (
        "demand_seats_high_watermark",
        "[ALPHA] High watermark, over last adjustment period, of demand_seats",
        lambda level: level.demand.high_watermark,
    ),
    (
        "demand_seats_average",
        "[ALPHA] Time-weighted average, over last adjustment period, of demand_seats",
        lambda level: level.demand.average,
    ),
    (
        "demand_seats_stdev",
        "[ALPHA] Time-weighted standard deviation, over last adjustment period, of demand_seats",
        lambda level: level.demand.deviation,
    ),
    ("demand_seats_smoothed", "[ALPHA] Smoothed seat demands", lambda level: level.demand.smoothed),
    ("target_seats", "[ALPHA] Seat allocation targets", lambda level: level.target),
)


class FlowMetrics:
    """A ``Collector`` of what priority levels count. ``levels`` returns them; None if nothing is limited."""

    def __init__(self, levels: Callable[[], Levels | None]) -> None:
        self._levels = levels

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        levels = self._levels()
        if levels is None:
            return
        found = [*levels.by_name.values()]
        yield from _level_gauges(found, levels.fair_fraction)
        yield from _schema_counts(found)
        yield from _schema_histograms(found)
        yield _in_queues(found)


def _level_gauges(levels: list[Level], fair_fraction: float) -> Iterator[Any]:
    for name, text, value in _LEVEL_GAUGES:
        yield gauges(PREFIX + name, text, (LEVEL,), {(level.name,): value(level) for level in levels})
    text = "[ALPHA] Fair fraction of server's concurrency to allocate to each priority level that can use it"
    yield gauges(f"{PREFIX}seat_fair_frac", text, (), {(): fair_fraction})
    yield _bounds("next_s_bounds", "", {each.name: each.queue_set.last_dispatch.bounds for each in levels})
    discounted = {each.name: each.queue_set.last_dispatch.discounted_bounds for each in levels}
    yield _bounds("next_discounted_s_bounds", " - estimated work in progress", discounted)


def _bounds(name: str, less: str, found: Mapping[str, tuple[int, int]]) -> Any:
    values = {
        (level, bound): value / SEAT_SECOND
        for level, bounds in found.items()
        for bound, value in zip(("min", "max"), bounds, strict=True)
    }
    text = f"[ALPHA] min and max, over queues, of S(oldest waiting request in queue){less}"
    return gauges(PREFIX + name, text, (LEVEL, "bound"), values)


def _schemas(levels: list[Level]) -> Iterator[tuple[_Pair, Level, SchemaCounts, int]]:
    """Yield the labels, the level, the counts and the brief requests of each flow schema."""
    for level in levels:
        brief = Counter(flow.schema for flow in level.queue_set.brief.values())
        for schema, counts in level.schemas.items():
            yield (level.name, schema), level, counts, brief[schema]


def _schema_counts(levels: list[Level]) -> Iterator[Any]:
    for name, text, value in _GAUGES:
        found = {labels: value(level, counts, brief) for labels, level, counts, brief in _schemas(levels)}
        yield gauges(PREFIX + name, text, _BOTH, found)
    text = "[BETA] Number of requests executed by API Priority and Fairness subsystem"
    dispatched = {
        labels: counts.dispatched + counts.brief + brief for labels, _, counts, brief in _schemas(levels)
    }
    yield counters(f"{PREFIX}dispatched_requests", text, _BOTH, dispatched)
    rejected = {
        (*labels, reason): number
        for labels, _, counts, _ in _schemas(levels)
        for reason, number in counts.rejected.items()
    }
    text = "[BETA] Number of requests rejected by API Priority and Fairness subsystem"
    yield counters(f"{PREFIX}rejected_requests", text, (*_BOTH, "reason"), rejected)
    blocked = {labels: counts.blocked for labels, _, counts, _ in _schemas(levels) if counts.blocked}
    text = (
        "[ALPHA] Number of times a dispatch attempt resulted in a non accommodation due to lack of available "
        "seats"
    )
    yield counters(f"{PREFIX}request_dispatch_no_accommodation", text, _BOTH, blocked)


def _schema_histograms(levels: list[Level]) -> Iterator[Any]:
    waits: dict[tuple[str, str, str], Histogram] = {}
    executions: dict[tuple[str, str, str], Histogram] = {}
    lengths: dict[_Pair, Histogram] = {}
    seats: dict[_Pair, Histogram] = {}
    watchers: dict[_Pair, Histogram] = {}
    for labels, level, counts, brief in _schemas(levels):
        started = counts.brief + brief
        seats[labels] = counts.seats.with_more(1, started)
        if counts.watchers.count:
            watchers[labels] = counts.watchers
        if not level.is_exempt:
            waits[*labels, "true"] = counts.waits["true"].with_more(0, started)
            if counts.waits["false"].count:
                waits[*labels, "false"] = counts.waits["false"]
        if level.queuing.queues > 0:
            lengths[labels] = counts.queue_lengths.with_more(1, started)
        regular = counts.executions["regular"].with_more(SHORT_SECONDS, counts.short, counts.short_seconds)
        executions[*labels, "regular"] = regular
        if counts.executions["watch"].count:
            executions[*labels, "watch"] = counts.executions["watch"]
    text = "[BETA] Length of time a request spent waiting in its queue"
    yield histograms(f"{PREFIX}request_wait_duration_seconds", text, (*_BOTH, "execute"), waits)
    text = (
        "[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution "
        "in the API Priority and Fairness subsystem"
    )
    yield histograms(f"{PREFIX}request_execution_seconds", text, (*_BOTH, "type"), executions)
    text = (
        "[ALPHA] Length of queue in the API Priority and Fairness subsystem, as seen by each request after "
        "it is enqueued"
    )
    yield histograms(f"{PREFIX}request_queue_length_after_enqueue", text, _BOTH, lengths)
    text = (
        "[ALPHA] Number of estimated seats (maximum of initial and final seats) associated with requests in "
        "API Priority and Fairness"
    )
    yield histograms(f"{PREFIX}work_estimated_seats", text, _BOTH, seats)
    text = "[ALPHA] count of watchers for mutating requests in API Priority and Fairness"
    yield histograms(f"{PREFIX}watch_count_samples", text, _BOTH, watchers)


def _in_queues(levels: list[Level]) -> Any:
    waiting = {("mutating",): 0, ("readOnly",): 0}
    for level in levels:
        for queue in level.queue_set.queues:
            for request in queue.waiting:
                waiting["mutating" if is_change(request.details) else "readOnly",] += 1
    text = "[ALPHA] Requests that wait in queues, per request kind."
    return gauges("apiserver_current_inqueue_requests", text, ("request_kind",), waiting)
