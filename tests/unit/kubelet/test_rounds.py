"""Rounds: after each period, or at its end only if something changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from podling import clock
from podling.kubelet.config import KubeletConfig
from podling.kubelet.rounds import Rounds, reporting_runtime
from podling.runtime.base import RuntimeFailure
from podling.runtime.changes import Changes
from podling.runtime.sim import Fault, FaultyRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode

PERIOD = 10.0
QUIET = KubeletConfig(write_files=False)


class Task:
    """A periodic task whose rounds are counted by their times."""

    def __init__(
        self,
        cluster: ControlPlane,
        root: Path,
        config: KubeletConfig = QUIET,
        quiet_period: float | None = None,
    ) -> None:
        self.runtime = FaultyRuntime()
        self.others = Changes()
        deps = SimNode(cluster, self.runtime, config, root).deps
        self.rounds = Rounds(PERIOD, deps, self.others, quiet_period=quiet_period)
        self.settled = True
        self.within: float | None = None
        self.during: Callable[[], None] = lambda: None
        self.times: list[float] = []
        self.is_reporting = reporting_runtime(deps) is not None

    async def run(self, seconds: float, *happening: tuple[float, Callable[[], object]]) -> list[float]:
        """Run for so long, with what happens after some seconds, and return the times of the rounds."""
        began = clock.monotonic()
        for after, action in happening:
            clock.call_later(after, action)
        task = asyncio.create_task(self._work(began))
        await clock.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.times

    async def _work(self, began: float) -> None:
        with self.rounds.follow():
            while True:
                await self.rounds.next(settled=self.settled, within=self.within)
                self.times.append(round(clock.monotonic() - began, 3))
                self.during()


@pytest.mark.parametrize(
    "config", [KubeletConfig(), KubeletConfig(write_files=False, skip_idle_rounds=False)]
)
async def test_rounds_follow_each_period_where_files_may_change(
    cluster: ControlPlane, tmp_path: Path, config: KubeletConfig
) -> None:
    task = Task(cluster, tmp_path, config)
    assert not task.is_reporting
    assert await task.run(35) == [10, 20, 30]


async def test_rounds_follow_longer_periods_while_all_is_quiet(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path, KubeletConfig(), quiet_period=25)
    assert not task.is_reporting
    happening = [(53.0, task.others.note), (54.0, task.others.note), (69.0, task.rounds.request)]
    assert await task.run(100, *happening) == [25, 50, 60, 69, 94]


async def test_rounds_follow_short_periods_until_all_is_settled(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    task = Task(cluster, tmp_path, KubeletConfig(), quiet_period=25)
    task.settled = False

    def settle() -> None:
        task.settled = len(task.times) == 2

    task.during = settle
    assert await task.run(50) == [10, 20, 45]


async def test_round_that_something_changes_is_followed_soon(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path, KubeletConfig(), quiet_period=25)
    task.during = lambda: task.others.note() if len(task.times) == 1 else None
    assert await task.run(70) == [25, 35, 60]


async def test_no_round_follows_if_nothing_changes(cluster: ControlPlane, tmp_path: Path) -> None:
    assert await Task(cluster, tmp_path).run(3600) == []


async def test_round_follows_a_change_at_the_end_of_its_period(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path)
    happening = [(43.0, task.others.note), (45.0, task.runtime.changes.note), (61.0, task.others.note)]
    assert await task.run(100, *happening) == [50, 70]


async def test_round_that_changes_something_is_followed_by_one(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path)
    task.during = lambda: task.others.note() if len(task.times) < 3 else None
    assert await task.run(100, (5.0, task.others.note)) == [10, 20, 30]


async def test_rounds_follow_each_period_until_all_is_settled(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path)
    task.settled = False

    def settle() -> None:
        task.settled = len(task.times) == 2

    task.during = settle
    assert await task.run(100) == [10, 20]


async def test_rounds_follow_each_period_while_the_runtime_has_faults(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    task = Task(cluster, tmp_path)
    fault = Fault(verb="status", error=RuntimeFailure("down"))
    happening = [
        (15.0, lambda: task.runtime.faults.append(fault)),
        (45.0, lambda: task.runtime.faults.remove(fault)),
    ]
    assert await task.run(100, *happening) == [20, 30, 40, 50]


async def test_round_follows_at_the_first_period_after_a_known_time(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    task = Task(cluster, tmp_path)
    task.within = 25.0
    assert await task.run(70) == [30, 60]


async def test_requested_round_follows_at_once(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path)
    assert await task.run(100, (12.0, task.rounds.request), (15.0, task.others.note)) == [12, 22]


async def test_pause_takes_the_place_of_the_period(cluster: ControlPlane, tmp_path: Path) -> None:
    task = Task(cluster, tmp_path)
    began = clock.monotonic()
    with task.rounds.follow():
        await task.rounds.next(pause=3.0)
    assert clock.monotonic() - began == 3.0
