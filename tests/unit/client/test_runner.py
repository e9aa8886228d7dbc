"""One switch decides what follows a run; the runner carries it out, one run per key at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest

from podling import clock
from podling.client.base import Key
from podling.client.runner import (
    CONFLICT_RETRY_SECONDS,
    Action,
    AwaitChange,
    RequeueAfter,
    Runner,
    Terminal,
)
from podling.client.workqueue import WorkQueue
from podling.machinery import errors
from podling.sim.loop import run

KEY = Key("default", "web")


class Scripted:
    """A reconciler whose runs end as scripted, and that records the start of each."""

    def __init__(self, *outcomes: Action | Exception) -> None:
        self._outcomes = list(outcomes)
        self.starts: list[float] = []

    async def reconcile(self, key: Key) -> Action:
        self.starts.append(clock.monotonic())
        outcome = self._outcomes.pop(0) if self._outcomes else AwaitChange()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def starts_within(seconds: float, *outcomes: Action | Exception) -> list[float]:
    """When runs of one key began, if they end like this and the key is added once at 0."""
    queue: WorkQueue[Key] = WorkQueue()
    reconciler = Scripted(*outcomes)
    runner = Runner(reconciler, queue)
    task = asyncio.create_task(runner.run())
    queue.add(KEY)
    await clock.sleep(seconds)
    queue.close()
    await task
    return reconciler.starts


def conflict() -> errors.ApiError:
    return errors.conflict("pods", "", "web")


@pytest.mark.parametrize(
    ("outcomes", "starts"),
    [
        pytest.param([AwaitChange()], [0], id="nothing more until a change"),
        pytest.param([RequeueAfter(30), RequeueAfter(60)], [0, 30, 90], id="run again when asked for"),
        pytest.param([conflict(), conflict()], [0, 0.01, 0.03], id="a conflict is tried again shortly"),
        pytest.param([Terminal("no such image")], [0], id="no try can help"),
        pytest.param([ValueError(), ValueError()], [0, 0.005, 0.015], id="back-off doubles"),
        pytest.param([errors.gateway_timeout("busy", 7)], [0, 7], id="the server says when"),
        pytest.param(
            [ValueError(), RequeueAfter(1), ValueError()], [0, 0.005, 1.005, 1.01], id="success forgets it"
        ),
    ],
)
def test_outcome_of_run_decides_next_start(outcomes: list[Action | Exception], starts: list[float]) -> None:
    assert run(starts_within(200, *outcomes)) == pytest.approx(starts)


def test_conflicts_do_not_lengthen_the_backoff_of_real_failures() -> None:
    starts = run(starts_within(5, conflict(), conflict(), ValueError()))
    assert starts[-1] == pytest.approx(3 * CONFLICT_RETRY_SECONDS + 0.005)


def test_conflicts_in_a_row_are_tried_again_once_a_second_at_last() -> None:
    starts = run(starts_within(20, *[conflict()] * 15))
    waits = [after - before for before, after in itertools.pairwise(starts)]
    assert waits[:7] == pytest.approx([CONFLICT_RETRY_SECONDS * 2**number for number in range(7)])
    assert waits[7:] == pytest.approx([1.0] * 8)


def test_another_outcome_ends_a_row_of_conflicts() -> None:
    starts = run(starts_within(5, conflict(), conflict(), RequeueAfter(1), conflict()))
    assert starts[-1] - starts[-2] == pytest.approx(CONFLICT_RETRY_SECONDS)


class Slow:
    """Every run takes ten seconds; notes how many ran at once."""

    def __init__(self, on_start: Callable[[Key], None]) -> None:
        self._on_start = on_start
        self.running: list[Key] = []
        self.most = 0

    async def reconcile(self, key: Key) -> Action:
        assert key not in self.running
        self.running.append(key)
        self.most = max(self.most, len(self.running))
        self._on_start(key)
        await clock.sleep(10)
        self.running.remove(key)
        return AwaitChange()


def test_workers_share_the_keys_and_never_one_key() -> None:
    async def story() -> None:
        queue: WorkQueue[Key] = WorkQueue()
        keys = [Key("default", str(number)) for number in range(6)]
        again = set(keys)

        def on_start(key: Key) -> None:
            if key in again:  # every object changes once while it is being worked on
                again.discard(key)
                queue.add(key)

        reconciler = Slow(on_start)
        runner = Runner(reconciler, queue, workers=3)
        task = asyncio.create_task(runner.run())
        for key in keys:
            queue.add(key)
        await clock.sleep(100)
        assert reconciler.most == 3
        assert runner.counters.runs == 12
        assert clock.monotonic() == 100
        queue.close()
        await task

    run(story())


def test_cancelling_the_runner_cancels_the_runs() -> None:
    async def story() -> None:
        queue: WorkQueue[Key] = WorkQueue()
        reconciler = Slow(lambda key: None)
        runner = Runner(reconciler, queue, workers=2)
        task = asyncio.create_task(runner.run())
        queue.add(KEY)
        await clock.sleep(1)
        assert runner.counters.active == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert runner.counters.active == 0
        assert queue.idle

    run(story())
