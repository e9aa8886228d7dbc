"""Scenarios of uniform clients on a queue set, in a simulated time of whole nanoseconds.

Source of the scenarios' shape: ``queueset_test.go`` (``uniformScenario``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count

from msgspec import Struct

from podling.apiserver.flowcontrol.queue_set import QueueSet
from podling.apiserver.flowcontrol.queues import Request, SchemaCounts
from podling.apiserver.flowcontrol.seat_demand import Integrator
from podling.apiserver.flowcontrol.work_estimate import WorkEstimate

SECOND = 1_000_000_000


class Client(Struct, frozen=True):
    """Threads that each make requests one after the other, with a pause between; times are nanoseconds."""

    hash: int
    threads: int
    calls: int
    executes: int = SECOND
    thinks: int = SECOND
    seats: int = 1
    final_seats: int = 1
    pads: int = 0
    """Time for which a request occupies its final seats after it has been answered."""
    split: bool = False
    """Half of the threads begin in the second half of the scenario."""


class Times:
    """Calls functions in the order of their times."""

    def __init__(self) -> None:
        self.now = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def call_later(self, wait: int, work: Callable[[], None]) -> None:
        heappush(self._events, (self.now + wait, next(self._numbers), work))

    def run(self, until: int | None = None) -> None:
        while self._events and (until is None or self._events[0][0] <= until):
            self.now, _, work = heappop(self._events)
            work()
        if until is not None:
            self.now = until

    @property
    def seconds(self) -> float:
        return self.now / SECOND


class Waiter:
    """Calls ``begin`` when the request that waits with it is dispatched."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    def done(self) -> bool:
        return False

    def set_result(self, result: None) -> None:
        self._begin()


class Scenario:
    """Clients that compete in one queue set."""

    def __init__(self, queue_set: QueueSet, clients: Sequence[Client], seconds: int) -> None:
        self.times = Times()
        self.queue_set = queue_set
        self._clients = clients
        self._half = seconds * SECOND // 2
        self._end = seconds * SECOND
        self.executing = [Integrator(0.0) for _ in clients]
        self.demand = Integrator(0.0)
        self.counts = [SchemaCounts() for _ in clients]
        self.executed = [0] * len(clients)
        for number, client in enumerate(clients):
            for thread in range(client.threads):
                late = client.split and thread >= client.threads // 2
                calls = client.calls // 2 if late else client.calls
                wait = 90 * thread + 20 * number + (self._half if late else 0)
                self.times.call_later(wait, lambda at=number, left=calls: self._call(at, left))  # type: ignore[misc]

    def averages(self, until: int | None = None) -> list[float]:
        """Run until then, or to the end of the scenario; return each client's seats since the last time."""
        self.times.run(self._end if until is None else until)
        return [each.reset(self.times.seconds).average for each in self.executing]

    def halves(self) -> tuple[list[float], list[float]]:
        return self.averages(self._half), self.averages()

    def finish(self) -> None:
        """Run until all requests are over."""
        self.times.run()

    def fair(self, limit: int, *, first_half: bool = False) -> list[float]:
        """Return the seats that each client should have."""
        demands = []
        for each in self._clients:
            threads = each.threads // 2 if each.split and first_half else each.threads
            demands.append(threads * each.seats * each.executes / (each.thinks + each.executes))
        return fair_shares(demands, limit)

    def _call(self, number: int, left: int) -> None:
        if left <= 0:
            return
        client, now = self._clients[number], self.times.seconds
        estimate = WorkEstimate(client.seats, client.final_seats, client.pads / SECOND)
        self.demand.add(estimate.max_seats, now)
        found = self.queue_set.start(self.counts[number], estimate, client.hash, now)
        if isinstance(found, str):
            self.demand.add(-estimate.max_seats, now)
        elif found.is_executing:
            self._execute(number, left, found)
        else:
            found.waiter = Waiter(lambda: self._execute(number, left, found))

    def _execute(self, number: int, left: int, request: Request) -> None:
        client = self._clients[number]
        self.executed[number] += 1
        self.executing[number].add(client.seats, self.times.seconds)
        self.times.call_later(client.executes + client.thinks, lambda: self._call(number, left - 1))
        self.times.call_later(client.executes, lambda: self._end_request(number, request))

    def _end_request(self, number: int, request: Request) -> None:
        client, now = self._clients[number], self.times.seconds
        self.executing[number].add(-client.seats, now)
        release = client.pads
        self.queue_set.finish(request, now, now)
        self.queue_set.dispatch(now)
        seats = max(client.seats, client.final_seats)
        if not release:
            self.demand.add(-seats, now)
            return
        self.times.call_later(release, lambda: self._release(seats))

    def _release(self, seats: int) -> None:
        self.demand.add(-seats, self.times.seconds)
        due = self.queue_set.next_release
        assert due is not None
        assert math.isclose(due, self.times.seconds)
        self.queue_set.release_due(max(due, self.times.seconds))


def fair_shares(demands: Sequence[float], limit: float) -> list[float]:
    """Return max-min fair shares of ``limit``."""
    shares = [0.0] * len(demands)
    left, number = limit, len(demands)
    for index in sorted(range(len(demands)), key=lambda index: demands[index]):
        shares[index] = min(demands[index], left / number)
        left, number = left - shares[index], number - 1
    return shares
