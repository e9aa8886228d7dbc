"""The wound clock by itself: timers, pauses, speeds, and the wait for clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from podling import clock
from podling.winding import HOLD_SECONDS_MAX, LEAP_SECONDS_MAX, Winding


class Machine:
    """The machine's time and a loop's queue of calls, moved by the test."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.winding = Winding(0.0, lambda: self.time, self._call_soon)
        self.fired: list[str] = []
        self._calls: list[Callable[..., object]] = []

    def _call_soon(self, call: Callable[..., object]) -> None:
        self._calls.append(call)

    def timer(self, seconds: float, name: str) -> object:
        return self.winding.call_later(seconds, self.fired.append, name)

    def turn(self) -> float | None:
        """Let the loop be idle once, and make the calls that became due."""
        wait = self.winding.idle()
        calls, self._calls = self._calls, []
        for call in calls:
            call()
        return wait

    async def settle(self) -> None:
        """Let the loop be idle until the clock has nothing left to do."""
        await clock.sleep(0)
        while self.turn() == 0:
            await clock.sleep(0)
        await clock.sleep(0)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_paused_clock_stands_still(machine: Machine) -> None:
    machine.timer(1, "never")
    machine.time += 3600
    assert machine.turn() is None
    assert (machine.winding.steady_time(), machine.fired) == (0, [])


async def test_advance_fires_timers_in_order_and_stops_at_its_end(machine: Machine) -> None:
    for seconds in (30, 10, 61, 60, 10):
        machine.timer(seconds, str(seconds))
    advance = asyncio.create_task(machine.winding.advance(60))
    await machine.settle()
    assert advance.done()
    assert machine.fired == ["10", "10", "30", "60"]
    assert machine.winding.steady_time() == 60
    assert machine.winding.status().mode == "paused"


async def test_timer_sees_the_moment_at_which_it_fires(machine: Machine) -> None:
    seen: list[float] = []
    machine.winding.call_later(7, lambda: seen.append(machine.winding.steady_time()))
    advance = asyncio.create_task(machine.winding.advance(60))
    await machine.settle()
    assert advance.done()
    assert seen == [7]


async def test_cancelled_timer_does_not_fire(machine: Machine) -> None:
    machine.winding.call_later(1, machine.fired.append, "cancelled").cancel()
    advance = asyncio.create_task(machine.winding.advance(5))
    await machine.settle()
    assert advance.done()
    assert machine.fired == []


async def test_requests_in_work_stop_the_winding_for_a_while_only(machine: Machine) -> None:
    machine.timer(1, "late")
    hold = machine.winding.hold()
    advance = asyncio.create_task(machine.winding.advance(5))
    await clock.sleep(0)
    assert machine.turn() == HOLD_SECONDS_MAX
    assert machine.fired == []
    machine.time += HOLD_SECONDS_MAX
    await machine.settle()
    assert advance.done()
    hold.cancel()
    hold.cancel()
    assert machine.winding.status().requests_in_work == 0


async def test_clients_have_a_moment_to_react(machine: Machine) -> None:
    machine.winding.settle_seconds = 0.5
    machine.timer(1, "after")
    machine.winding.note_activity()
    advance = asyncio.create_task(machine.winding.advance(5))
    await clock.sleep(0)
    assert machine.turn() == 0.5
    machine.time += 0.5
    await machine.settle()
    assert advance.done()
    assert machine.fired == ["after"]


async def test_answered_request_gives_its_client_a_moment(machine: Machine) -> None:
    machine.winding.settle_seconds = 0.5
    machine.winding.hold().cancel()
    advance = asyncio.create_task(machine.winding.advance(1))
    await clock.sleep(0)
    assert machine.turn() == 0.5
    advance.cancel()


def test_running_clock_follows_the_machine(machine: Machine) -> None:
    machine.timer(120, "due")
    machine.winding.set_speed(60)
    assert machine.turn() == 2
    machine.time += 1
    assert machine.winding.steady_time() == 60
    assert machine.turn() == 1
    machine.time += 1
    assert machine.turn() == 0
    assert machine.fired == ["due"]
    machine.winding.set_speed(0)
    machine.time += 100
    assert machine.winding.steady_time() == 120


async def test_winding_a_running_clock_leaves_it_running(machine: Machine) -> None:
    machine.winding.set_speed(2)
    advance = asyncio.create_task(machine.winding.advance(100))
    await machine.settle()
    assert advance.done()
    machine.time += 1
    assert machine.winding.steady_time() == 102


async def test_pause_ends_a_winding_where_it_is(machine: Machine) -> None:
    machine.winding.call_later(10, machine.winding.set_speed, 0)
    advance = asyncio.create_task(machine.winding.advance(3600))
    await machine.settle()
    assert advance.done()
    assert machine.winding.steady_time() == 10


async def test_cancelled_winding_ends_where_it_is(machine: Machine) -> None:
    advance = asyncio.create_task(machine.winding.advance(3600))
    machine.winding.call_later(10, advance.cancel)
    await clock.sleep(0)
    machine.turn()
    await asyncio.gather(advance, return_exceptions=True)
    assert machine.turn() is None
    assert machine.winding.steady_time() == 10


async def test_second_winding_begins_after_the_first(machine: Machine) -> None:
    both = [asyncio.create_task(machine.winding.advance(seconds)) for seconds in (10, 5)]
    await machine.settle()
    await machine.settle()
    assert all(each.done() for each in both)
    assert machine.winding.steady_time() == 15


@pytest.mark.parametrize(("comes_after", "at_most", "met", "time"), [(30, 60, True, 30), (90, 60, False, 60)])
async def test_run_until_ends_with_the_condition_or_its_time(
    machine: Machine, comes_after: float, at_most: float, met: bool, time: float
) -> None:
    event = asyncio.Event()
    machine.winding.call_later(comes_after, event.set)
    until = asyncio.create_task(machine.winding.run_until(event.wait(), at_most))
    await clock.sleep(0)
    for _ in range(10):
        machine.turn()
        await clock.sleep(0)
        await clock.sleep(0)
        await clock.sleep(0)
    assert await until is met
    assert machine.winding.steady_time() == time


async def test_failed_condition_is_raised(machine: Machine) -> None:
    async def fails() -> None:
        raise LookupError("no such object")

    with pytest.raises(LookupError, match="no such object"):
        await machine.winding.run_until(fails(), 60)


@pytest.mark.parametrize("speed", [-1, float("inf"), float("nan")])
def test_impossible_speeds_are_refused(machine: Machine, speed: float) -> None:
    with pytest.raises(ValueError, match="the speed must be between 0 and"):
        machine.winding.set_speed(speed)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
async def test_impossible_advances_are_refused(machine: Machine, seconds: float) -> None:
    with pytest.raises(ValueError, match="time cannot go back"):
        await machine.winding.advance(seconds)


async def leaping(machine: Machine, seconds: float, *, may_leap: bool = True) -> list[float]:
    """Wind past rounds of ten seconds; return the moments at which one was made."""
    moments: list[float] = []

    def make(period: float) -> None:
        moments.append(machine.winding.steady_time())
        machine.winding.call_round(period, make, period)

    machine.winding.may_leap = lambda: may_leap
    machine.winding.call_round(10, make, 10)
    advance = asyncio.create_task(machine.winding.advance(seconds))
    await machine.settle()
    await advance
    return moments


async def test_rounds_are_made_at_begin_and_end_of_a_winding_only(machine: Machine) -> None:
    assert await leaping(machine, 605) == [10, 20, 590, 600]
    assert machine.winding.steady_time() == 605


async def test_no_round_is_passed_over_in_a_busy_cluster(machine: Machine) -> None:
    assert await leaping(machine, 100, may_leap=False) == [10.0 * each for each in range(1, 11)]


async def test_leap_ends_shortly_before_the_next_event_with_the_rounds(machine: Machine) -> None:
    machine.timer(300, "event")
    machine.winding.call_round(35, machine.fired.append, "round")
    machine.winding.call_round(45, machine.fired.append, "heartbeat", is_heartbeat=True)
    assert await leaping(machine, 325) == [10, 20, 285, 295, 310, 320]
    assert machine.fired == ["heartbeat", "round", "event"]


async def test_rounds_without_a_leap_keep_their_order(machine: Machine) -> None:
    machine.winding.call_round(25, machine.fired.append, "heartbeat", is_heartbeat=True)
    machine.winding.call_round(20, machine.fired.append, "round")
    machine.timer(25, "event")
    await leaping(machine, 30, may_leap=False)
    assert machine.fired == ["round", "heartbeat", "event"]


async def test_leap_is_no_longer_than_its_limit(machine: Machine) -> None:
    moments = await leaping(machine, 3 * LEAP_SECONDS_MAX)
    assert moments[2:4] == [20 + LEAP_SECONDS_MAX, 20 + 2 * LEAP_SECONDS_MAX]


async def test_last_report_before_the_end_of_a_leap_is_made_at_its_time(machine: Machine) -> None:
    made: list[float] = []

    def report() -> None:
        made.append(machine.winding.steady_time())
        machine.winding.call_report(300, 300, report)

    machine.winding.call_report(301, 300, report)
    machine.timer(2000, "event")
    moments = await leaping(machine, 3000)
    assert made == [1801, 2701]
    assert moments == [10, 20, 1801, 1985, 1995, 2701, 2985, 2995]


async def test_report_at_the_moment_of_an_event_follows_it(machine: Machine) -> None:
    """The event was set before the report: without leaps it comes first, too."""

    def report() -> None:
        machine.fired.append("report")
        machine.winding.call_report(300, 300, report)

    machine.timer(900, "event")
    machine.winding.call_report(300, 300, report)
    machine.winding.call_report(300, 300, machine.fired.append, "cancelled").cancel()
    await leaping(machine, 1000)
    assert machine.fired == ["report", "event", "report"]


async def test_every_round_is_made_while_a_client_is_sent_something(machine: Machine) -> None:
    machine.winding.settle_seconds = 0

    def send() -> None:
        machine.time += 1
        machine.winding.note_activity()

    for seconds in range(10, 60, 10):
        machine.winding.call_round(seconds, send)
    moments = await leaping(machine, 200)
    assert moments == [10, 20, 30, 40, 50, 60, 70, 185, 195]
