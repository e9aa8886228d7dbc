"""A queue of fair queuing, and the requests in it. Works in units of ``SEAT_SECOND``.

Source: ``apiserver/pkg/util/flowcontrol/fairqueuing/queueset/{types,fifo_list}.go``.
"""

from __future__ import annotations

from typing import Any

from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from podling.machinery.histograms import Histogram

SEAT_SECOND = 100_000_000
"""Units of a seat-second: whole numbers, so that equal work compares as equal."""
ESTIMATED_SERVICE_SECONDS = 0.003
"""Expected time of a request's service, corrected when it is known."""


SEATS = (1, 2, 4, 8, 16, 32, 64, 100)
QUEUE_LENGTHS = (0, 10, 25, 50, 100, 250, 500, 1000)
WATCHERS = (0, 1, 10, 100, 1000, 10000)
DURATIONS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
"""The buckets of upstream's histograms."""
SHORT_SECONDS = DURATIONS[1]


def work(seats: int, seconds: float) -> int:
    return round(seats * seconds * SEAT_SECOND)


_ONE_SEATS_WORK = work(1, ESTIMATED_SERVICE_SECONDS)


def shown_work(units: int) -> str:
    """Return an amount of work as the debug pages show it."""
    whole, rest = divmod(units, SEAT_SECOND)
    return f"{whole}.{rest:08d}ss"


class SchemaCounts:
    """Counts and durations of one flow schema's requests in one priority level: what metrics show."""

    def __init__(self) -> None:
        self.waiting = self.waiting_seats = 0
        self.executing = self.executing_seats = 0
        self.short, self.short_seconds = 0, 0.0
        """Brief requests that took at most ``SHORT_SECONDS``, and their time. They are in no histogram."""
        self.long, self.long_seconds = 0, 0.0
        """Brief requests that took longer."""
        self.dispatched = 0
        """The other requests that were dispatched."""
        self.blocked = 0
        """Dispatches that were put off because too few seats were free."""
        self.rejected: dict[str, int] = {}
        self.seats = Histogram(SEATS)
        self.queue_lengths = Histogram(QUEUE_LENGTHS)
        self.watchers = Histogram(WATCHERS)
        self.executions = {"regular": Histogram(DURATIONS), "watch": Histogram(DURATIONS)}
        self.waits = {"true": Histogram(DURATIONS), "false": Histogram(DURATIONS)}
        """Waits of requests that were taken in (``true``), and of those that were refused (``false``)."""

    @property
    def brief(self) -> int:
        """The brief requests that have ended: those of one seat that were dispatched at once."""
        return self.short + self.long

    @property
    def brief_seconds(self) -> float:
        return self.short_seconds + self.long_seconds

    def observe_long(self, seconds: float) -> None:
        """Count a brief request that was not short."""
        self.long += 1
        self.long_seconds += seconds
        self.executions["regular"].observe(seconds)

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


class Request:
    """A request in a queue set, from its arrival until its seats are free again.

    Args:
        counts: the counts of its flow schema.
        estimate: its work.
        wide: whether it is one of the requests of which a level serves few at once.
    """

    wide = False
    final_seats = final_work = 0
    additional_seconds = 0.0
    queue: Queue | None = None
    is_executing = False
    flow: Any = None
    details: Any = None
    """The HTTP request, for the debug pages."""
    waiter: Any = None
    """The future on which the request waits for its dispatch."""

    def __init__(
        self, counts: SchemaCounts, estimate: WorkEstimate, now: float, *, wide: bool = False
    ) -> None:
        self.counts = counts
        self.arrived_at = self.started_at = now
        self.arrived_r = 0
        if estimate is ONE_SEAT:
            self.initial_seats = self.seats = 1
            self.total_work = _ONE_SEATS_WORK
            return
        self.wide = wide
        self.initial_seats, self.final_seats = estimate.initial_seats, estimate.final_seats
        self.seats = estimate.max_seats
        """The seats that it occupies until all its work is done."""
        self.additional_seconds = estimate.additional_seconds
        self.final_work = work(self.final_seats, self.additional_seconds)
        self.total_work = work(self.initial_seats, ESTIMATED_SERVICE_SECONDS) + self.final_work

    def wake(self) -> None:
        """Let the request's handler go on, if it waits."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class Queue:
    """Waiting requests in the order of their arrival, and those of them that are executing."""

    __slots__ = (
        "executing",
        "index",
        "initial_seats_sum",
        "next_dispatch_r",
        "seats_in_use",
        "seats_sum",
        "waiting",
        "work_sum",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.waiting: dict[Request, None] = {}
        self.executing: dict[Request, None] = {}
        self.next_dispatch_r = 0
        """The progress at which the next request is dispatched in the virtual world."""
        self.seats_in_use = 0
        self.work_sum = self.seats_sum = self.initial_seats_sum = 0

    @property
    def is_active(self) -> bool:
        return bool(self.waiting or self.executing)

    @property
    def oldest(self) -> Request | None:
        return next(iter(self.waiting), None)

    def enqueue(self, request: Request) -> None:
        self.waiting[request] = None
        self.work_sum += request.total_work
        self.seats_sum += request.seats
        self.initial_seats_sum += request.initial_seats

    def remove(self, request: Request) -> None:
        del self.waiting[request]
        self.work_sum -= request.total_work
        self.seats_sum -= request.seats
        self.initial_seats_sum -= request.initial_seats

    def bound_next_dispatch(self) -> None:
        """Keep the next dispatch from preceding the arrival of its request.

        A queue that did not use its share would otherwise save it up.
        """
        oldest = self.oldest
        if oldest is not None and self.next_dispatch_r < oldest.arrived_r:
            self.next_dispatch_r = oldest.arrived_r
