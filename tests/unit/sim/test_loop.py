"""The virtual-time loop: time that jumps, runs that repeat, and deadlocks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from podling import clock
from podling.sim.loop import EPOCH, Deadlock, Livelock, run

LATER = datetime(2030, 5, 6, tzinfo=UTC)


def test_waiting_moves_wall_and_monotonic_time_together() -> None:
    async def wait() -> tuple[timedelta, float]:
        wall, monotonic = clock.now(), clock.monotonic()
        await clock.sleep(86_400)
        return clock.now() - wall, clock.monotonic() - monotonic

    assert run(wait()) == (timedelta(days=1), 86_400)


@pytest.mark.parametrize("start", [EPOCH, LATER])
def test_run_begins_at_its_start(start: datetime) -> None:
    async def read() -> datetime:
        return clock.now()

    assert run(read(), start=start) == start


def test_work_takes_no_time() -> None:
    async def work() -> float:
        for _ in range(100):
            await clock.sleep(0)
        return clock.monotonic()

    assert run(work()) == 0


def test_timers_fire_in_order_of_time() -> None:
    fired: list[tuple[float, int]] = []

    async def fire(seconds: int) -> None:
        await clock.sleep(seconds)
        fired.append((clock.monotonic(), seconds))

    async def main() -> None:
        await asyncio.gather(*map(fire, (3600, 1, 60)))

    run(main())
    assert fired == [(1, 1), (60, 60), (3600, 3600)]


def test_seed_decides_random_choices() -> None:
    async def choose() -> list[float]:
        loop = asyncio.get_running_loop()
        return [loop.random_source.random() for _ in range(3)]  # type: ignore[attr-defined]

    assert run(choose(), seed=1) == run(choose(), seed=1)
    assert run(choose(), seed=1) != run(choose(), seed=2)


def test_waiting_without_a_timer_is_a_deadlock() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="every task is waiting and no timer is set"):
        run(wait())


def test_timers_of_one_moment_fire_in_the_order_of_their_making() -> None:
    """Cancelled timers rebuild the heap of asyncio, which would change the order of equal moments."""
    fired: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(5, fired.append, number) for number in range(500)]
        for number, timer in enumerate(timers):
            if number % 4:
                timer.cancel()
        await clock.sleep(1)
        loop.call_at(5.0, fired.append, 500)
        await clock.sleep(10)

    run(main())
    assert fired == [*range(0, 500, 4), 500]


def test_tasks_that_wake_each_other_for_ever_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.sim.loop.TURNS_MAX", 1000)

    async def spin() -> None:
        while True:
            await clock.sleep(0)

    async def main() -> None:
        asyncio.current_task().set_name("main")  # type: ignore[union-attr]
        spinning = asyncio.create_task(spin(), name="spin")
        await spinning

    with pytest.raises(Livelock, match=r"time stands still after 1,000 turns of spin, main"):
        run(main())


def test_timer_that_the_clock_has_nearly_reached_fires_at_its_moment() -> None:
    """Code that waits for a moment compares it with the clock, and must not wait for a rest for ever."""
    moment, waits = 3.0 + 5e-10, 0

    async def wait_for_the_moment() -> float:
        nonlocal waits
        while (rest := moment - clock.monotonic()) > 0 and waits < 10:
            waits += 1
            await clock.sleep(rest)
        return clock.monotonic()

    async def work_from(start: float) -> None:
        await clock.sleep(start)
        for _ in range(100):
            await clock.sleep(0)

    async def main() -> float:
        found, _ = await asyncio.gather(wait_for_the_moment(), work_from(3.0))
        return found

    assert run(main()) == moment
    assert waits == 1
