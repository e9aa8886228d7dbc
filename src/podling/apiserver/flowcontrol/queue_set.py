"""Fair queuing for the requests of one priority level.

The requests of a flow go to one of the few queues of its hand, the one with the least work waiting. Whenever
seats are free, the queue whose oldest request would finish first in a virtual world, in which all queues
share the seats evenly, is served. ``r`` is that world's time: the seat-seconds that each queue has been
given. The service time of a request is estimated first, and corrected at its end.

Source: ``apiserver/pkg/util/flowcontrol/fairqueuing/queueset/queueset.go``. One rule is added: *wide*
requests together occupy half of a level's seats at most (but one of them is always served). So a request of
one seat finds a seat although many wide ones wait, and few of these are in work at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from msgspec import Struct

from podling.apiserver.flowcontrol.queues import (
    ESTIMATED_SERVICE_SECONDS,
    SEAT_SECOND,
    Queue,
    Request,
    SchemaCounts,
    work,
)
from podling.apiserver.flowcontrol.seat_demand import Integrator, Observation
from podling.apiserver.flowcontrol.shuffle_sharding import check_sizes, deal
from podling.apiserver.flowcontrol.work_estimate import WorkEstimate

CONCURRENCY_LIMIT, QUEUE_FULL, TIME_OUT, CANCELLED = (
    "concurrency-limit", "queue-full", "time-out", "cancelled",
)  # fmt: skip
"""Reasons of rejections, as metrics name them."""
HANDS_MAX = 4096
"""Hands remembered before remembering starts afresh."""
UNLIMITED = 1 << 30
WIDE_SHARE = 2
"""Wide requests together occupy this fraction of the seats at most."""


class Queuing(Struct, frozen=True):
    """The queues of a level: 0 queues reject what finds no seat, and -1 means that nothing is limited."""

    queues: int
    hand_size: int = 1
    length_limit: int = 1

    def check(self) -> None:
        """Raise ``ValueError`` if flows cannot be spread over the queues."""
        if self.queues > 0:
            check_sizes(self.queues, self.hand_size)


class Dispatch(Struct, frozen=True):
    """The state of fair queuing at a dispatch, in units of ``SEAT_SECOND``."""

    r: int = 0
    s: int = 0
    """The start of the request in the virtual world."""
    bounds: tuple[int, int] = (0, 0)
    """The least and the greatest such start that was possible."""
    discounted_bounds: tuple[int, int] = (0, 0)
    """The same less the work in progress of each queue."""


class QueueSet:
    """The queues and seats of one priority level.

    Args:
        limit: the seats that may be occupied at once.
        turn_limit: the requests that may start before ``end_turn`` is called again.
    """

    def __init__(self, queuing: Queuing, limit: int, now: float, turn_limit: int = UNLIMITED) -> None:
        self.queuing = queuing
        self.limit = limit
        self.r = 0
        self.queues: list[Queue] = []
        self.executing: dict[Request, None] = {}
        """The requests executing that went through no queue."""
        self.requests_waiting = self.requests_executing = 0
        self.seats_in_use = self.seats_waiting = self.wide_seats_in_use = 0
        self.brief: dict[Any, Any] = {}
        """Brief requests that are executing. ``seats_in_use`` does not include their seats."""
        self.started = 0
        """Requests that have started since ``end_turn`` was called last."""
        self.turn_limit = turn_limit
        self.on_full_turn: Callable[[QueueSet], object] | None = None
        """Called when requests wait for nothing but ``end_turn``."""
        self.brief_peak = 0
        """The most brief requests at once since the demand was read last."""
        self.dispatched = self.rejected = self.timed_out = self.cancelled = 0
        self.demand = Integrator(now)
        self.last_dispatch = Dispatch()
        """The last dispatch of a request that had waited."""
        self._updated_at = now
        self._active_queues = 0
        self._robin_index = -1
        self._enqueued = 0
        self._lingering: list[tuple[float, int, Request]] = []
        """Requests that have been answered and still occupy seats, by the end of that."""
        self._numbers = count()
        self._hands: dict[int, tuple[int, ...]] = {}
        self._with_waiting: dict[Queue, None] = {}
        """The queues in which requests wait."""
        self.configure(queuing, limit, now)

    @property
    def is_idle(self) -> bool:
        return not (self.requests_waiting or self.requests_executing or self.brief)

    @property
    def occupied(self) -> int:
        """The seats that no request can take now."""
        return self.seats_in_use + len(self.brief)

    @property
    def is_turn_full(self) -> bool:
        return self.started >= self.turn_limit

    @property
    def next_release(self) -> float | None:
        """The time at which ``release_due`` has something to do next."""
        return self._lingering[0][0] if self._lingering else None

    def requests(self) -> Iterator[Request]:
        """Yield the requests that wait or execute, without brief ones."""
        yield from self.executing
        for queue in self.queues:
            yield from queue.waiting
            yield from queue.executing

    def configure(self, queuing: Queuing, limit: int, now: float) -> None:
        """Change the configuration.

        Queues that are no longer wanted are removed when they are empty.
        """
        self._advance(now)
        if queuing.queues <= 0:
            queuing = Queuing(queuing.queues, self.queuing.hand_size, self.queuing.length_limit)
        if (queuing.queues, queuing.hand_size) != (self.queuing.queues, self.queuing.hand_size):
            self._hands.clear()
        for index in range(len(self.queues), queuing.queues):
            self.queues.append(Queue(index))
        self.queuing, self.limit = queuing, limit
        self._brief_limit = limit if queuing.queues >= 0 else UNLIMITED
        if queuing.queues < 0:
            self.turn_limit = UNLIMITED
        self.dispatch(now)

    def start(
        self, counts: SchemaCounts, estimate: WorkEstimate, flow_hash: int, now: float, *, wide: bool = False
    ) -> Request | str:
        """Take in a request; return it, executing or waiting in a queue, or why it is rejected."""
        self._advance(now)
        request = Request(counts, estimate, now, wide=wide)
        request.arrived_r = self.r
        if self.queuing.queues < 1:
            if not self._has_room(request):
                return self._reject(request, CONCURRENCY_LIMIT)
            self._execute(request, now)
            self.executing[request] = None
            return request
        queue = self._queue_of(flow_hash)
        request.queue = queue
        if len(queue.waiting) >= self.queuing.length_limit and (
            self.occupied >= self.limit or self.wide_seats_in_use or self.is_turn_full
        ):
            return self._reject(request, QUEUE_FULL)
        if not queue.waiting and not queue.executing:
            queue.next_dispatch_r = self.r
            self._active_queues += 1
        if not self.requests_waiting and self._has_room(request):
            if queue.next_dispatch_r < self.r:
                queue.next_dispatch_r = self.r
            self._fit_final_seats(request)
            self._robin_index = queue.index
            self._execute_from(queue, request, now)
            return request
        queue.enqueue(request)
        self.hold_waiting(request)
        queue.bound_next_dispatch()
        self.demand.set(self.seats_in_use + self.seats_waiting, now)
        self.dispatch(now)
        return request

    def hold_waiting(self, request: Request) -> None:
        """Count a request that has been put into its queue."""
        assert request.queue is not None
        self._with_waiting[request.queue] = None
        self.requests_waiting += 1
        self.seats_waiting += request.seats
        request.counts.waiting += 1
        request.counts.waiting_seats += request.seats

    def start_brief(self, request: Any, flow: Any) -> bool:
        """Start a request of one seat without accounting of its own, if a seat is free and none waits.

        While nothing waits, nothing has to be fair: such requests go through no queue.
        """
        brief = self.brief
        running = len(brief)
        if (
            self.requests_waiting
            or running + self.seats_in_use >= self._brief_limit
            or self.started >= self.turn_limit
        ):
            return False
        brief[request] = flow
        self.started += 1
        if running >= self.brief_peak:
            self.brief_peak = running + 1
        return True

    def end_brief(self, request: object) -> bool:
        """Note the end of a brief request; return whether ``end_turn`` is to follow."""
        del self.brief[request]
        return self.requests_waiting > 0 or self.started >= self.turn_limit // 2

    def end_turn(self, now: float) -> None:
        """Begin a new turn of the event loop.

        Most requests run in one piece of the loop and give their seats back before another one could compete
        for them. So a turn starts a limited number, and those of the next turn are chosen fairly.
        """
        self._advance(now)
        self.started = 0
        self.dispatch(now)

    def reset_demand(self, now: float, brief_seconds: float) -> Observation:
        """Return the demand for seats since the last time; brief requests took ``brief_seconds``."""
        seen, peak = self.demand.reset(now), self.brief_peak
        self.brief_peak = len(self.brief)
        average = seen.average + (brief_seconds / seen.seconds if seen.seconds > 0 else 0)
        return Observation(seen.seconds, average, seen.deviation, seen.least, max(seen.most, peak))

    def dispatch(self, now: float) -> None:
        """Dispatch as many waiting requests as possible."""
        while self.requests_waiting and self.occupied < self.limit:
            if self.is_turn_full:
                if self.on_full_turn is not None:
                    self.on_full_turn(self)
                break
            request = self._next_request()
            if request is None:
                break
            queue = request.queue
            assert queue is not None
            self._leave(queue, request)
            self._fit_final_seats(request)
            self._execute_from(queue, request, now)
            queue.bound_next_dispatch()
            request.wake()

    def cancel(self, request: Request, now: float, *, timed_out: bool = False) -> None:
        """Remove a waiting request from its queue."""
        self._advance(now)
        queue = request.queue
        assert queue is not None
        self._leave(queue, request)
        if not queue.is_active:
            self._active_queues -= 1
        queue.bound_next_dispatch()
        self.rejected += 1
        self.timed_out += timed_out
        self.cancelled += not timed_out
        request.counts.reject(TIME_OUT if timed_out else CANCELLED)
        self.demand.set(self.seats_in_use + self.seats_waiting, now)
        self._remove_if_unwanted(queue)
        self.dispatch(now)

    def finish(self, request: Request, ended_at: float, now: float) -> None:
        """Note the end of an executing request; ``dispatch`` is to follow.

        Its seats are free at once, or after its additional time, at ``next_release``.
        """
        self._advance(now)
        request.is_executing = False
        self.requests_executing -= 1
        request.counts.executing -= 1
        queue = request.queue
        if queue is None:
            del self.executing[request]
        else:
            del queue.executing[request]
            spared = ESTIMATED_SERVICE_SECONDS - (ended_at - request.started_at)
            queue.next_dispatch_r -= work(request.initial_seats, spared)
            if queue.waiting:
                queue.bound_next_dispatch()
            elif not queue.executing:
                self._active_queues -= 1
        if request.additional_seconds > 0:
            heappush(self._lingering, (now + request.additional_seconds, next(self._numbers), request))
        else:
            self._release(request, now)

    def release_due(self, now: float) -> None:
        """Release the seats of requests whose additional time is over."""
        self._advance(now)
        while self._lingering and self._lingering[0][0] <= now:
            self._release(heappop(self._lingering)[2], now)
        self.dispatch(now)

    def _advance(self, now: float) -> None:
        """Let virtual time pass, in which the queues have been as they are now."""
        elapsed = now - self._updated_at
        self._updated_at = now
        if self._active_queues:
            seats = self.seats_in_use + self.seats_waiting
            rate = (seats if seats < self.limit else self.limit) / self._active_queues
            self.r += round(rate * elapsed * SEAT_SECOND)

    def _queue_of(self, flow_hash: int) -> Queue:
        """Return the queue of the flow's hand with the least work waiting."""
        hand = self._hands.get(flow_hash)
        if hand is None:
            if len(self._hands) >= HANDS_MAX:
                self._hands.clear()
            hand = self._hands[flow_hash] = deal(flow_hash, self.queuing.queues, self.queuing.hand_size)
        offset = self._enqueued % len(hand)
        self._enqueued += 1
        best = self.queues[hand[offset]]
        if best.work_sum:
            for index in (*hand[offset + 1 :], *hand[:offset]):
                queue = self.queues[index]
                if queue.work_sum < best.work_sum:
                    best = queue
        return best

    def _has_room(self, request: Request) -> bool:
        if self.queuing.queues < 0:
            return True
        if self.is_turn_full or (request.wide and not self._has_room_for_wide(request)):
            return False
        if request.seats > self.limit:
            return not (self.requests_executing or self.brief)
        return self.occupied + request.seats <= self.limit

    def _has_room_for_wide(self, request: Request) -> bool:
        occupied = self.wide_seats_in_use
        return not occupied or occupied + request.seats <= self.limit // WIDE_SHARE

    def _next_request(self) -> Request | None:
        """Return the request to dispatch now: the oldest of the queue with the least virtual finish.

        Queues are considered in turn, beginning after the one served last. A wide request that waits for
        others of its kind keeps only its own queue waiting.
        """
        best: tuple[int, int] | None = None
        found: Request | None = None
        number = len(self.queues)
        self._robin_index %= number
        for queue in self._with_waiting:
            oldest = queue.oldest
            if oldest is None or (oldest.wide and not self._has_room_for_wide(oldest)):
                continue
            rank = queue.next_dispatch_r + oldest.total_work, (queue.index - self._robin_index - 1) % number
            if best is None or rank < best:
                best, found = rank, oldest
        if found is None:
            return None
        if not self._has_room(found):
            found.counts.blocked += 1
            return None
        assert found.queue is not None
        self._robin_index = found.queue.index
        starts = [queue.next_dispatch_r for queue in self._with_waiting]
        discounted = [
            queue.next_dispatch_r - work(queue.seats_in_use, ESTIMATED_SERVICE_SECONDS)
            for queue in self._with_waiting
        ]
        self.last_dispatch = Dispatch(
            self.r,
            found.queue.next_dispatch_r,
            (min(starts), max(starts)),
            (min(discounted), max(discounted)),
        )
        return found

    def _fit_final_seats(self, request: Request) -> None:
        """Reduce final seats to the limit, for a longer time: the work stays the same."""
        if request.final_seats > self.limit > 0:
            request.final_seats = self.limit
            request.additional_seconds = request.final_work / SEAT_SECOND / self.limit
            request.seats = max(request.initial_seats, self.limit)

    def _execute_from(self, queue: Queue, request: Request, now: float) -> None:
        queue.executing[request] = None
        queue.seats_in_use += request.seats
        queue.next_dispatch_r += request.total_work
        self._execute(request, now)

    def _execute(self, request: Request, now: float) -> None:
        request.started_at = now
        request.is_executing = True
        seats, counts = request.seats, request.counts
        self.started += 1
        self.dispatched += 1
        counts.dispatched += 1
        self.requests_executing += 1
        self.seats_in_use += seats
        if request.wide:
            self.wide_seats_in_use += seats
        counts.executing += 1
        counts.executing_seats += seats
        self.demand.set(self.seats_in_use + self.seats_waiting, now)

    def _leave(self, queue: Queue, request: Request) -> None:
        """Take a request out of its queue's waiting ones."""
        queue.remove(request)
        if not queue.waiting:
            del self._with_waiting[queue]
        self.requests_waiting -= 1
        self.seats_waiting -= request.seats
        request.counts.waiting -= 1
        request.counts.waiting_seats -= request.seats

    def _release(self, request: Request, now: float) -> None:
        seats = request.seats
        self.seats_in_use -= seats
        if request.wide:
            self.wide_seats_in_use -= seats
        request.counts.executing_seats -= seats
        self.demand.set(self.seats_in_use + self.seats_waiting, now)
        queue = request.queue
        if queue is not None:
            queue.seats_in_use -= seats
            self._remove_if_unwanted(queue)

    def _remove_if_unwanted(self, queue: Queue) -> None:
        """Remove an empty queue if there are more than wanted."""
        if len(self.queues) <= self.queuing.queues or queue.is_active or queue.seats_in_use:
            return
        del self.queues[queue.index]
        for each in self.queues[queue.index :]:
            each.index -= 1
        if self._robin_index >= queue.index:
            self._robin_index -= 1

    def _reject(self, request: Request, reason: str) -> str:
        self.rejected += 1
        request.counts.reject(reason)
        return reason
