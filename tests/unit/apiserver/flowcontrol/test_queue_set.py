"""Fair queuing, by the scenarios of upstream's tests (``queueset_test.go``)."""

from __future__ import annotations

import math

import pytest

from podling.apiserver.flowcontrol.queue_set import CANCELLED, TIME_OUT, QueueSet, Queuing
from podling.apiserver.flowcontrol.queues import Request, SchemaCounts, work
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from tests.support.fair_queuing import SECOND, Client, Scenario, fair_shares

ONE, TWO = 1001001001, 2002002002
QUARTER = 91 * 24 * 3600 * SECOND


@pytest.mark.parametrize(
    ("demands", "limit", "shares"),
    [
        ([0, 0], 42, [0, 0]),
        ([12, 8], 20, [12, 8]),
        ([3, 9], 6, [3, 3]),
        ([10, 9, 6], 7.5, [2.5, 2.5, 2.5]),
        ([1, 9, 7, 3], 21, [1, 9, 7, 3]),
        ([1, 9, 7, 3], 18, [1, 7, 7, 3]),
    ],
)
def test_fair_shares_give_small_demands_in_full(
    demands: list[float], limit: float, shares: list[float]
) -> None:
    assert fair_shares(demands, limit) == shares


@pytest.mark.parametrize(
    ("name", "queuing", "limit", "clients", "seconds", "margin"),
    [
        ("baseline", Queuing(9, 3, 8), 1, [Client(ONE, 1, 21, thinks=0)], 20, 0),
        (
            "hand size 1",
            Queuing(9, 1, 8),
            4,
            [Client(ONE, 8, 20, thinks=SECOND - 1), Client(TWO, 8, 20, thinks=SECOND - 1)],
            50,
            0.01,
        ),
        (
            "hand size 3",
            Queuing(8, 3, 16),
            4,
            [
                Client(400900100100, 8, 30, thinks=SECOND - 1),
                Client(300900200200, 8, 30, thinks=SECOND - 1),
            ],
            60,
            0.03,
        ),
        (
            "different flows, equal shares",
            Queuing(9, 1, 8),
            4,
            [Client(ONE, 8, 20), Client(TWO, 7, 30, thinks=SECOND // 2)],
            40,
            0.01,
        ),
        (
            "very long requests",
            Queuing(9, 1, 8),
            2000,
            [
                Client(ONE, 8, 20, executes=QUARTER, thinks=QUARTER, seats=500),
                Client(TWO, 7, 30, executes=QUARTER, thinks=QUARTER // 2, seats=500),
            ],
            40 * QUARTER // SECOND,
            0.01,
        ),
        (
            "different flows, unequal shares",
            Queuing(9, 1, 6),
            3,
            [Client(ONE, 4, 20, thinks=SECOND - 1), Client(TWO, 2, 20, thinks=SECOND - 1)],
            20,
            0.01,
        ),
        (
            "different widths",
            Queuing(64, 7, 13),
            6,
            [
                Client(10010010010010, 13, 10, thinks=SECOND - 1),
                Client(20020020020020, 7, 10, thinks=SECOND - 1, seats=2),
            ],
            20,
            0.155,
        ),
        (
            "too wide for the limit",
            Queuing(64, 7, 35),
            6,
            [
                *(
                    Client(each, 15, 21, thinks=SECOND - 1, seats=2)
                    for each in (40040040040040, 50050050050050, 60060060060060, 70070070070070)
                ),
                Client(90090090090090, 15, 21, thinks=SECOND - 1, seats=7),
            ],
            225,
            0.33,
        ),
    ],
)
def test_clients_get_fair_shares(
    name: str, queuing: Queuing, limit: int, clients: list[Client], seconds: int, margin: float
) -> None:
    scenario = Scenario(QueueSet(queuing, limit, 0.0), clients, seconds)
    averages = scenario.averages()
    for found, expected in zip(averages, scenario.fair(limit), strict=True):
        assert abs(found - expected) <= margin * expected + 1e-9, f"{name}: {averages}"
    _check_demand(scenario)
    scenario.finish()
    _check_idle(scenario)
    assert scenario.executed == [each.threads * each.calls for each in clients], name


def _check_demand(scenario: Scenario) -> None:
    now = scenario.times.seconds
    found, expected = scenario.queue_set.demand.observation(now), scenario.demand.observation(now)
    assert math.isclose(found.average, expected.average, rel_tol=1e-9)
    assert math.isclose(found.deviation, expected.deviation, rel_tol=1e-6, abs_tol=1e-6)


def _check_idle(scenario: Scenario) -> None:
    queue_set = scenario.queue_set
    assert queue_set.is_idle
    assert (queue_set.seats_in_use, queue_set.seats_waiting) == (0, 0)
    assert all(not queue.is_active and not queue.seats_in_use for queue in queue_set.queues)
    for counts in scenario.counts:
        assert (counts.waiting, counts.waiting_seats) == (0, 0)
        assert (counts.executing, counts.executing_seats) == (0, 0)


@pytest.mark.parametrize("limit", [0, 2])
def test_exempt_level_limits_nothing(limit: int) -> None:
    clients = [Client(ONE, 5, 20, seats=3)]
    scenario = Scenario(QueueSet(Queuing(-1, 3, 2), limit, 0.0), clients, 40)
    assert scenario.averages() == pytest.approx([7.5])
    scenario.finish()
    _check_idle(scenario)


HALF = SECOND // 2


@pytest.mark.parametrize(
    ("thinks", "pads", "final_seats", "limit", "clients", "expected"),
    [
        (SECOND, 0, 1, 1, 1, None),
        (SECOND, 0, 1, 2, 1, None),
        (SECOND, 0, 2, 2, 1, None),
        (SECOND, 0, 1, 1, 2, None),
        (SECOND, 0, 1, 2, 2, None),
        (SECOND, 0, 2, 2, 2, None),
        (0, SECOND, 1, 1, 1, [0.5]),
        (0, SECOND, 1, 2, 1, None),
        (0, SECOND, 2, 2, 1, [0.5]),
        (0, SECOND, 1, 1, 2, [0.25, 0.25]),
        (0, SECOND, 1, 2, 2, [0.5, 0.5]),
        (0, SECOND, 2, 2, 2, [0.25, 0.25]),
        (SECOND, HALF, 1, 1, 1, None),
        (SECOND, HALF, 1, 2, 1, None),
        (SECOND, HALF, 2, 2, 1, None),
        (SECOND, HALF, 1, 1, 2, [1 / 3, 1 / 3]),
        (SECOND, HALF, 1, 2, 2, None),
        (SECOND, HALF, 2, 2, 2, [1 / 3, 1 / 3]),
        (HALF, SECOND, 1, 1, 1, [0.5]),
        (HALF, SECOND, 1, 2, 1, None),
        (HALF, SECOND, 2, 2, 1, [0.5]),
        (HALF, SECOND, 1, 1, 2, [0.25, 0.25]),
        (HALF, SECOND, 1, 2, 2, [0.5, 0.5]),
        (HALF, SECOND, 2, 2, 2, [0.25, 0.25]),
    ],
)
def test_final_seats_are_occupied_after_the_answer(
    thinks: int, pads: int, final_seats: int, limit: int, clients: int, expected: list[float] | None
) -> None:
    made = [
        Client(each, 1, 25, thinks=thinks, final_seats=final_seats, pads=pads)
        for each in (ONE, TWO)[:clients]
    ]
    scenario = Scenario(QueueSet(Queuing(9, 3, 8), limit, 0.0), made, 24)
    found = scenario.averages()
    assert found == pytest.approx(expected or scenario.fair(limit), abs=1e-6)
    _check_demand(scenario)
    scenario.finish()
    _check_idle(scenario)


def test_idle_queue_saves_little_for_later() -> None:
    """The anti-windup rule bounds what a flow that did not use its share gets later."""
    clients = [Client(ONE, 2, 40, thinks=-1), Client(TWO, 2, 40, thinks=-1, split=True)]
    scenario = Scenario(QueueSet(Queuing(9, 1, 6), 3, 0.0), clients, 40)
    first, second = scenario.halves()
    assert first == pytest.approx(scenario.fair(3, first_half=True), rel=0.01)
    for found, expected in zip(second, scenario.fair(3), strict=True):
        assert 0.1 < abs(found - expected) / expected <= 0.26


def test_level_without_queues_rejects_what_finds_no_seat() -> None:
    clients = [
        Client(ONE, 6, 10, thinks=57_000_000),
        Client(TWO, 4, 15, thinks=750_000_000),
    ]
    scenario = Scenario(QueueSet(Queuing(0), 4, 0.0), clients, 13)
    averages = scenario.averages()
    for found, expected in zip(averages, scenario.fair(4), strict=True):
        assert abs(found - expected) / expected > 0.2, "rejections are not fair"
    scenario.finish()
    assert any(each.rejected.get("concurrency-limit") for each in scenario.counts)
    assert scenario.queue_set.rejected == sum(
        each.rejected.get("concurrency-limit", 0) for each in scenario.counts
    )


def _started(queue_set: QueueSet, counts: SchemaCounts, flow: int, now: float, **options: object) -> Request:
    found = queue_set.start(counts, ONE_SEAT, flow, now)
    assert isinstance(found, Request)
    return found


def test_cancelled_request_leaves_its_queue_at_once() -> None:
    queue_set, counts = QueueSet(Queuing(11, 1, 11), 1, 0.0), SchemaCounts()
    first, second = _started(queue_set, counts, 1, 0.0), _started(queue_set, counts, 2, 0.0)
    assert (first.is_executing, second.is_executing) == (True, False)
    queue_set.cancel(second, 1.0)
    assert not queue_set.requests_waiting
    assert counts.rejected == {CANCELLED: 1}
    third = _started(queue_set, counts, 3, 1.0)
    queue_set.cancel(third, 2.0, timed_out=True)
    assert counts.rejected == {CANCELLED: 1, TIME_OUT: 1}
    assert (queue_set.rejected, queue_set.cancelled, queue_set.timed_out) == (2, 1, 1)
    queue_set.finish(first, 3.0, 3.0)
    assert queue_set.is_idle


def test_full_queue_rejects() -> None:
    queue_set, counts = QueueSet(Queuing(1, 1, 2), 1, 0.0), SchemaCounts()
    for _ in range(3):
        _started(queue_set, counts, 1, 0.0)
    assert queue_set.start(counts, ONE_SEAT, 1, 0.0) == "queue-full"
    assert counts.rejected == {"queue-full": 1}


def _waiting(queue_set: QueueSet, starts: list[tuple[float, int]], in_use: int) -> None:
    """Fill queues with requests of these next dispatches and seats, while ``in_use`` seats are taken."""
    queue_set.seats_in_use = queue_set.requests_executing = in_use
    for queue, (next_dispatch, seats) in zip(queue_set.queues, starts, strict=True):
        request = Request(SchemaCounts(), WorkEstimate(seats), 0.0)
        request.queue = queue
        queue.enqueue(request)
        queue.next_dispatch_r = work(1, next_dispatch)
        queue_set.hold_waiting(request)


@pytest.mark.parametrize(
    ("name", "limit", "in_use", "queues", "picked"),
    [
        ("seats are free, the queue with the earlier start is picked", 1, 0, [(200, 1), (100, 1)], 1),
        ("all seats are occupied, no queue is picked", 1, 1, [(200, 1)], None),
        ("seats are free for the request that finishes first", 50, 25, [(200, 50), (100, 25)], 1),
        ("no seats are free for the request that finishes first", 50, 26, [(200, 10), (100, 25)], None),
    ],
)
def test_queue_that_finishes_first_is_picked(
    name: str, limit: int, in_use: int, queues: list[tuple[float, int]], picked: int | None
) -> None:
    queue_set = QueueSet(Queuing(len(queues), 1, 9), limit, 0.0)
    _waiting(queue_set, queues, in_use)
    before = [queue.oldest for queue in queue_set.queues]
    queue_set.dispatch(0.0)
    assert [each.is_executing for each in before if each] == [
        number == picked for number in range(len(queues))
    ], name
    if picked is None and in_use > 1:
        queue_set.seats_in_use = 25
        queue_set.dispatch(0.0)
        assert before[1] is not None
        assert before[1].is_executing, "seats have become free"


@pytest.mark.parametrize(
    "estimate", [WorkEstimate(1, 10, 60.0), WorkEstimate(10)], ids=["additional time", "no additional time"]
)
def test_seats_are_released_after_the_additional_time(estimate: WorkEstimate) -> None:
    queue_set, counts = QueueSet(Queuing(1, 1, 9), 20, 0.0), SchemaCounts()
    request = queue_set.start(counts, estimate, 1, 0.0)
    assert isinstance(request, Request)
    assert (queue_set.seats_in_use, counts.executing_seats) == (10, 10)
    queue_set.finish(request, 1.0, 1.0)
    assert (queue_set.requests_executing, counts.executing) == (0, 0)
    if estimate.additional_seconds:
        assert queue_set.seats_in_use == 10
        assert queue_set.next_release == 61.0
        queue_set.release_due(60.0)
        assert queue_set.seats_in_use == 10
        queue_set.release_due(61.0)
    assert (queue_set.seats_in_use, counts.executing_seats, queue_set.next_release) == (0, 0, None)


def test_final_seats_beyond_the_limit_are_occupied_for_longer() -> None:
    queue_set = QueueSet(Queuing(1, 1, 9), 4, 0.0)
    request = queue_set.start(SchemaCounts(), WorkEstimate(1, 8, 1.0), 1, 0.0)
    assert isinstance(request, Request)
    assert (request.seats, request.final_seats, request.additional_seconds) == (4, 4, 2.0)


@pytest.mark.parametrize(("initial", "final", "most"), [(3, 3, 3), (1, 3, 3), (3, 1, 3)])
def test_request_occupies_the_most_of_its_seats(initial: int, final: int, most: int) -> None:
    assert Request(SchemaCounts(), WorkEstimate(initial, final, 1.0), 0.0).seats == most


def test_work_of_a_request_includes_its_additional_time() -> None:
    request = Request(SchemaCounts(), WorkEstimate(3, 50, 70.0), 0.0)
    assert request.total_work == work(3, 0.003) + work(50, 70.0)


def test_wide_requests_leave_seats_for_narrow_ones() -> None:
    queue_set, counts = QueueSet(Queuing(64, 4, 50), 40, 0.0), SchemaCounts()
    wide = [queue_set.start(counts, WorkEstimate(10), ONE, 0.0, wide=True) for _ in range(64)]
    assert sum(isinstance(each, Request) and each.is_executing for each in wide) == 2
    assert queue_set.requests_waiting == 62
    assert _started(queue_set, counts, TWO, 0.1).is_executing
    first = wide[0]
    assert isinstance(first, Request)
    queue_set.finish(first, 0.2, 0.2)
    queue_set.dispatch(0.2)
    assert (queue_set.wide_seats_in_use, queue_set.requests_waiting) == (20, 61)


def test_one_wide_request_is_served_however_wide() -> None:
    queue_set, counts = QueueSet(Queuing(64, 4, 50), 4, 0.0), SchemaCounts()
    found = [queue_set.start(counts, WorkEstimate(30), ONE, 0.0, wide=True) for _ in range(2)]
    assert [isinstance(each, Request) and each.is_executing for each in found] == [True, False]


def test_queues_of_wide_requests_are_limited_too() -> None:
    queue_set, counts = QueueSet(Queuing(1, 1, 3), 100, 0.0), SchemaCounts()
    found = [queue_set.start(counts, WorkEstimate(25), ONE, 0.0, wide=True) for _ in range(6)]
    assert found[5] == "queue-full"


def test_removed_queues_drain_first() -> None:
    queue_set, counts = QueueSet(Queuing(8, 1, 9), 1, 0.0), SchemaCounts()
    requests = [_started(queue_set, counts, flow, 0.0) for flow in range(8)]
    queue_set.configure(Queuing(2, 1, 9), 1, 1.0)
    assert len(queue_set.queues) > 2
    for number in range(len(requests)):
        running = next(each for each in requests if each.is_executing)
        queue_set.finish(running, 2.0 + number, 2.0 + number)
        queue_set.dispatch(2.0 + number)
    assert queue_set.is_idle
    assert [queue.index for queue in queue_set.queues] == [0, 1]


def test_higher_limit_dispatches_at_once() -> None:
    queue_set, counts = QueueSet(Queuing(8, 1, 9), 1, 0.0), SchemaCounts()
    requests = [_started(queue_set, counts, flow, 0.0) for flow in range(5)]
    queue_set.configure(Queuing(8, 1, 9), 3, 1.0)
    assert sum(each.is_executing for each in requests) == 3


def test_turn_starts_a_limited_number_of_requests() -> None:
    queue_set, counts = QueueSet(Queuing(8, 2, 9), 40, 0.0, 4), SchemaCounts()
    full: list[QueueSet] = []
    queue_set.on_full_turn = full.append
    for each in range(4):
        assert queue_set.start_brief(each, "flow")
        queue_set.end_brief(each)
    assert not queue_set.start_brief(4, "flow")
    waiting = [_started(queue_set, counts, flow, 0.0) for flow in range(6)]
    assert not any(each.is_executing for each in waiting), "all seats are free, but the turn is full"
    assert full
    queue_set.end_turn(0.1)
    assert sum(each.is_executing for each in waiting) == 4
    queue_set.end_turn(0.2)
    assert all(each.is_executing for each in waiting)


def test_turn_is_to_end_when_half_of_its_requests_have_started() -> None:
    queue_set = QueueSet(Queuing(8, 2, 9), 40, 0.0, 4)
    ends = []
    for each in range(3):
        assert queue_set.start_brief(each, "flow")
        ends.append(queue_set.end_brief(each))
    assert ends == [False, True, True]


def test_exempt_level_starts_any_number_in_a_turn() -> None:
    queue_set = QueueSet(Queuing(-1), 0, 0.0, 4)
    assert all(queue_set.start_brief(each, "flow") for each in range(100))


def test_brief_requests_occupy_seats() -> None:
    queue_set, counts = QueueSet(Queuing(8, 2, 9), 4, 0.0), SchemaCounts()
    assert all(queue_set.start_brief(each, "flow") for each in range(4))
    assert not queue_set.start_brief(4, "flow")
    waits = _started(queue_set, counts, ONE, 0.0)
    assert queue_set.requests_waiting == 1
    assert queue_set.end_brief(0), "a request waits for the seat"
    queue_set.end_turn(0.2)
    assert waits.is_executing
    assert not queue_set.start_brief(5, "flow"), "the seat is occupied again"


def test_demand_includes_brief_requests() -> None:
    queue_set = QueueSet(Queuing(8, 2, 9), 4, 0.0)
    for each in range(2):
        queue_set.start_brief(each, "flow")
    seen = queue_set.reset_demand(10.0, 5.0)
    assert (seen.average, seen.most) == (0.5, 2)
