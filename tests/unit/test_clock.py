"""Time and waiting, under virtual time and outside of loops."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling import clock
from podling.sim.loop import EPOCH, run


def test_loop_without_own_time_uses_that_of_the_system() -> None:
    async def read() -> tuple[object, datetime]:
        return clock.own_loop(), clock.now()

    clock.expect_own_time()
    before = clock.now()
    loop, now = asyncio.run(read())
    assert clock.own_loop() is None
    assert loop is None
    assert before <= now <= clock.now()


def test_time_in_a_virtual_loop_is_that_of_the_loop() -> None:
    async def read() -> tuple[bool, datetime, float]:
        loop: object = asyncio.get_running_loop()
        return clock.own_loop() is loop, clock.now(), clock.monotonic()

    assert run(read()) == (True, EPOCH, 0)


def test_real_time_passes_under_virtual_time() -> None:
    async def read() -> tuple[float, float]:
        await clock.sleep(1e6)
        return clock.real_monotonic(), clock.monotonic()

    before = clock.real_monotonic()
    real, virtual = run(read())
    assert before <= real <= clock.real_monotonic()
    assert virtual == 1e6


def test_seconds_precision_cuts_and_does_not_round() -> None:
    moment = datetime(2026, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)
    assert clock.seconds_precision(moment) == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(("seconds", "passed"), [(1.5, 1.5), (0, 0), (-5, 0)])
def test_sleep_takes_its_seconds_and_never_less_than_none(seconds: float, passed: float) -> None:
    async def sleep() -> float:
        await clock.sleep(seconds)
        return clock.monotonic()

    assert run(sleep()) == passed


@pytest.mark.parametrize(
    ("set_after", "limit", "result", "passed"),
    [(3, 10, True, 3), (10, 3, False, 3), (3, None, True, 3), (5, -1, False, 0)],
)
def test_wait_for_ends_with_the_event_or_the_limit(
    set_after: float, limit: float | None, result: bool, passed: float
) -> None:
    async def wait() -> tuple[bool, float]:
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(set_after, event.set)
        return await clock.wait_for(event, limit), clock.monotonic()

    assert run(wait()) == (result, passed)


def test_wait_for_sees_an_event_that_is_set_already() -> None:
    async def wait() -> bool:
        event = asyncio.Event()
        event.set()
        return await clock.wait_for(event, 0)

    assert run(wait()) is True


def test_first_of_cancels_the_slower_waits() -> None:
    ended: list[str] = []

    async def wait(name: str, seconds: float) -> None:
        try:
            await clock.sleep(seconds)
            ended.append(f"{name} returned")
        except asyncio.CancelledError:
            ended.append(f"{name} cancelled")
            raise

    async def race() -> float:
        await clock.first_of(wait("fast", 1), wait("slow", 60))
        return clock.monotonic()

    assert run(race()) == 1
    assert ended == ["fast returned", "slow cancelled"]


@pytest.mark.parametrize(
    ("now", "seconds", "offset", "wait"),
    [
        (100.0, 10, 0, 10.0),
        (100.0, 2, 0, 2.0),
        (100.0, 15, 0, 15.0),
        (100.0, 60, 0, 60.0),
        (103.25, 10, 0, 6.75),
        (106.25, 10, 0, 13.75),
        (100.007, 2, 0, 1.993),
        (100.0079, 2, 0, 1.993),
        (103.0, 15, 0, 17.0),
        (103.0, 63, 0, 63.0),
        (100.0, 10, 0.5, 10.5),
        (100.5, 10, 0.5, 10.0),
        (100.3, 2.56, 0, 2.56),
        (100.3, 0.25, 0, 0.25),
        (100.3, 0, 0, 0),
        (100.3, -1, 0, -1),
    ],
)
def test_periodic_waits_end_at_common_moments(now: float, seconds: float, offset: float, wait: float) -> None:
    assert clock.aligned_wait(now, seconds, offset) == wait


@given(
    now=st.floats(0, 1e7),
    seconds=st.sampled_from([1, 2, 5, 10, 15, 20, 30, 60, 300]),
    offset=st.integers(0, 1999).map(lambda each: each / 1000),
)
def test_aligned_wait_is_near_the_period_and_exact_from_then_on(
    now: float, seconds: float, offset: float
) -> None:
    first = clock.aligned_wait(now, seconds, offset)
    assert seconds / 2 - 0.001 <= first <= seconds * 1.5
    began = int(now * 1000 + 1e-6) / 1000
    assert clock.aligned_wait(began + first, seconds, offset) == seconds


def test_only_waits_on_the_clock_of_the_machine_are_aligned() -> None:
    async def waits() -> list[float]:
        return [clock.aligned(10)]

    assert run(waits()) == [10]
