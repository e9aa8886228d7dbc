"""The work queue's invariants, in single cases and over random histories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling import clock
from podling.client.workqueue import BACKOFF_SECONDS_MAX, QueueClosed, WorkQueue, backoff_seconds
from podling.sim.loop import EPOCH, VirtualTimeLoop, run
from podling.sim.wound_loop import WoundLoop
from podling.winding import Winding


def test_a_key_added_many_times_waits_once() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        for _ in range(3):
            queue.add("a")
        queue.add("b")
        assert len(queue) == 2
        assert [await queue.get(), await queue.get()] == ["a", "b"]
        assert len(queue) == 0

    run(story())


def test_a_held_key_waits_until_its_worker_is_done() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        assert len(queue) == 0
        assert not queue.idle
        queue.done(key)
        assert await queue.get() == "a"
        queue.done("a")
        assert queue.idle

    run(story())


def test_of_several_delays_the_earliest_counts() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 60)
        queue.add_after("a", 5)
        queue.add_after("a", 30)
        assert await queue.get() == "a"
        assert clock.monotonic() == 5
        queue.done("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(120):
                await queue.get()

    run(story())


def test_a_delay_is_kept_beside_an_immediate_run() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 10)
        queue.add("a")
        queue.done(await queue.get())
        assert clock.monotonic() == 0
        await queue.get()
        assert clock.monotonic() == 10

    run(story())


def test_backoff_doubles_per_key_until_it_is_forgotten() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        assert [queue.add_backoff("a") for _ in range(4)] == [0.005, 0.01, 0.02, 0.04]
        assert queue.add_backoff("b") == 0.005
        queue.forget("a")
        assert queue.failures("a") == 0
        assert queue.add_backoff("a") == 0.005

    run(story())


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0.005), (2, 0.01), (11, 5.12), (18, 655.36), (19, 1000), (5000, 1000)]
)
def test_backoff_rises_to_a_ceiling(failures: int, seconds: float) -> None:
    assert backoff_seconds(failures) == seconds <= BACKOFF_SECONDS_MAX


def test_backoff_may_have_a_lower_ceiling() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue(backoff_seconds_max=0.015)
        assert [queue.add_backoff("a") for _ in range(4)] == [0.005, 0.01, 0.015, 0.015]

    run(story())


def test_a_cancelled_worker_does_not_swallow_a_wake_up() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        first = asyncio.create_task(queue.get())
        second = asyncio.create_task(queue.get())
        await clock.sleep(0)
        queue.add("a")  # wakes the first, which is cancelled before it can run
        first.cancel()
        assert await second == "a"

    run(story())


def test_a_closed_queue_hands_out_what_waits_and_then_says_so() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add_after("late", 5)
        queue.close()
        queue.add("b")
        assert await queue.get() == "a"
        with pytest.raises(QueueClosed):
            await queue.get()

    run(story())


def test_key_that_rests_is_handed_out_by_a_closed_queue() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue(rest_seconds=5)
        queue.add("a")
        queue.done(await queue.get())
        queue.add("a")
        assert (len(queue), queue.idle) == (0, False)
        queue.close()
        assert await queue.get() == "a"
        queue.done("a")
        assert queue.idle

    run(story())


def test_changes_during_the_rest_are_one_run_at_its_end() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue(rest_seconds=0.01)
        queue.add("a")
        queue.done(await queue.get())
        began = clock.monotonic()
        for _ in range(4):
            queue.add("a")
        assert (len(queue), queue.idle) == (0, False)
        assert await queue.get() == "a"
        assert clock.monotonic() - began > 0.009
        queue.done("a")
        assert (queue.adds, queue.idle) == (2, True)

    asyncio.run(story())


@pytest.mark.parametrize("loop_factory", [VirtualTimeLoop, lambda: WoundLoop(EPOCH, seed=1)])
def test_key_rests_until_all_else_of_a_moment_has_happened_where_time_is_virtual(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue(rest_seconds=3600)
        queue.add("a")
        queue.done(await queue.get())
        for _ in range(50):
            queue.add("a")
            assert len(queue) == 0
            await clock.sleep(0)
        assert await queue.get() == "a"
        assert clock.monotonic() < 0.001
        queue.done("a")
        winding = clock.wound_clock()
        await (winding.advance(1) if isinstance(winding, Winding) else clock.sleep(1))
        queue.add("a")
        assert len(queue) == 1, "a key that has rested is handed out at once"

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(story())


def test_closing_wakes_every_waiting_worker() -> None:
    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        workers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await clock.sleep(1)
        queue.close()
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        assert all(isinstance(outcome, QueueClosed) for outcome in outcomes)

    run(story())


class Ask(NamedTuple):
    """A request at ``at`` for a run of ``key`` in ``delay`` seconds (0: now)."""

    at: int
    key: str
    delay: int


class Run(NamedTuple):
    key: str
    start: float
    end: float


asks = st.lists(st.builds(Ask, st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 20)), max_size=25)


async def play(history: list[Ask], workers: int, seconds: int, rest: int = 0) -> list[Run]:
    """Add the requests to a queue in time, with ``workers`` whose every run takes ``seconds``."""
    queue: WorkQueue[str] = WorkQueue(rest_seconds=rest)
    runs: list[Run] = []

    async def work() -> None:
        while True:
            key = await queue.get()
            start = clock.monotonic()
            await clock.sleep(seconds)
            runs.append(Run(key, start, clock.monotonic()))
            queue.done(key)

    async with asyncio.TaskGroup() as group:
        crew = [group.create_task(work()) for _ in range(workers)]
        for ask in sorted(history):
            await clock.sleep(ask.at - clock.monotonic())
            queue.add_after(ask.key, ask.delay)
        await clock.sleep(1000)
        assert queue.idle
        for worker in crew:
            worker.cancel()
    return runs


@settings(max_examples=60, deadline=None)
@given(history=asks, workers=st.integers(1, 3), seconds=st.integers(0, 4), rest=st.sampled_from((0, 3)))
def test_laws_hold_for_every_history(history: list[Ask], workers: int, seconds: int, rest: int) -> None:
    runs = run(play(history, workers, seconds, rest))
    for key in "abc":
        mine = sorted(r for r in runs if r.key == key)
        wanted = [ask for ask in history if ask.key == key]
        # No two runs of one key overlap, and one that rests runs again after all else of the moment.
        assert all(earlier.end + bool(rest) * 1e-6 <= later.start for earlier, later in pairwise(mine))
        # Nothing is lost: after the time of every request a run begins.
        assert all(any(r.start >= ask.at for r in mine) for ask in wanted)
        # Nothing is invented, and nothing comes before its time.
        assert len(mine) <= len(wanted)
        if mine:
            assert mine[0].start >= min(ask.at + ask.delay for ask in wanted)


@settings(max_examples=60, deadline=None)
@given(history=asks)
def test_with_a_free_worker_every_earliest_time_is_met_exactly(history: list[Ask]) -> None:
    runs = run(play(history, workers=3, seconds=0))
    for key in "abc":
        wanted = [ask for ask in history if ask.key == key]
        if wanted:
            first = min(ask.at + ask.delay for ask in wanted)
            assert min(r.start for r in runs if r.key == key) == first


def moments_of_rounds(loop_factory: Callable[[], asyncio.AbstractEventLoop], seconds: float) -> list[float]:
    """Return when a key runs that requests a round every ten seconds, in so many seconds."""

    async def story() -> list[float]:
        queue: WorkQueue[str] = WorkQueue()
        moments: list[float] = []

        async def work() -> None:
            while True:
                key = await queue.get()
                moments.append(clock.monotonic())
                queue.done(key)
                queue.add_round(key, 10)

        winding = clock.wound_clock()
        worker = asyncio.create_task(work())
        queue.add("a")
        if isinstance(winding, Winding):
            winding.may_leap = lambda: True
            await winding.advance(seconds)
        else:
            await clock.sleep(seconds)
        queue.close()
        worker.cancel()
        return moments

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(story())


def test_rounds_that_a_wound_clock_passes_over_keep_their_times() -> None:
    found = moments_of_rounds(lambda: WoundLoop(EPOCH, seed=1), 608)
    assert found == [0, 10, 20, 593, 600]


def test_rounds_on_other_loops_are_delays() -> None:
    assert moments_of_rounds(VirtualTimeLoop, 35) == [0, 10, 20, 30]
