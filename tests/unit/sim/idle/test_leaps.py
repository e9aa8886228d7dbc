"""Virtual time leaps over the rounds of an idle cluster, and a run is what it would be without leaps."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling import clock
from podling.runtime.sim.life import Life
from podling.sim.held_loop import HeldLoop
from podling.sim.idle import leaps
from podling.sim.loop import VirtualTimeLoop
from podling.sim.runner import Run, run_scenario, start_of
from podling.sim.scenario_file import read_scenario
from tests.support.scenarios import EXAMPLES, FOLDER, scenario, web

Called = list[tuple[float, str]]


class Timers:
    """The timers of a loop, and the calls that they have made."""

    def __init__(self) -> None:
        self.loop = VirtualTimeLoop()
        self.leaps = self.loop.leaps
        self.leaps.may_leap = lambda: True
        self.called: Called = []

    def note(self, name: str) -> None:
        self.called.append((round(self.loop.time(), 3), name))

    def round(self, seconds: float, name: str, *, is_heartbeat: bool = False) -> None:
        """Make a round each ``seconds``."""
        self.note(name)
        left = seconds - self.loop.time() % seconds
        self.leaps.call_round(left, self.round, seconds, name, is_heartbeat=is_heartbeat)

    def report(self, seconds: float, name: str) -> None:
        """Make a report each ``seconds``."""
        self.note(name)
        self.leaps.call_report(seconds, seconds, self.report, seconds, name)

    def calls_in(self, seconds: float) -> Called:
        self.called = []
        self.loop.run_until_complete(clock.sleep(seconds))
        return self.called


@pytest.fixture
def timers() -> Iterator[Timers]:
    made = Timers()
    yield made
    made.loop.close()


def test_rounds_are_made_once_shortly_before_the_next_event_heartbeats_first(timers: Timers) -> None:
    timers.round(5, "round")
    timers.round(10, "heartbeat", is_heartbeat=True)
    timers.loop.call_later(3603, timers.note, "event")
    landing = [(3588, "heartbeat"), (3588, "round")]
    last = [(3590, "heartbeat"), (3590, "round"), (3595, "round"), (3600, "heartbeat"), (3600, "round")]
    assert timers.calls_in(3603) == [*landing, *last, (3603, "event")]


def test_each_kind_has_the_loop_to_itself(timers: Timers) -> None:
    """A round sees all that follows from the heartbeats."""

    async def follow() -> None:
        for _ in range(20):
            await clock.sleep(0)
        timers.note("followed")

    tasks = []
    timers.leaps.call_round(5, timers.note, "round")
    timers.leaps.call_round(10, lambda: tasks.append(timers.loop.create_task(follow())), is_heartbeat=True)
    timers.loop.call_later(3603, timers.note, "event")
    assert [name for _, name in timers.calls_in(3603)] == ["followed", "round", "event"]


def test_last_report_comes_at_its_time(timers: Timers) -> None:
    timers.loop.call_later(7, timers.report, 300, "report")
    timers.round(10, "round")
    found = timers.calls_in(3600)
    assert [each for each in found if each[1] == "report"] == [(7, "report"), (3307, "report")]


def test_rounds_that_were_passed_keep_to_their_times(timers: Timers) -> None:
    timers.round(10, "round")
    timers.calls_in(3604.5)
    timers.leaps.may_leap = bool
    assert timers.calls_in(20) == [(3610, "round"), (3620, "round")]


def test_no_leap_is_shorter_than_it_is_worth(timers: Timers) -> None:
    timers.round(5, "round")
    assert timers.calls_in(leaps.LEAP_SECONDS_MIN - 1) == [(5, "round"), (10, "round"), (15, "round")]


def test_cancelled_timers_are_not_made_up_for(timers: Timers) -> None:
    timers.leaps.call_round(10, timers.note, "cancelled before").cancel()
    cancelled = timers.leaps.call_round(10, timers.note, "cancelled by a heartbeat")
    timers.leaps.call_round(10, cancelled.cancel, is_heartbeat=True)
    timers.loop.call_later(1800, timers.note, "cancelled event").cancel()
    assert timers.calls_in(3600) == []


def test_time_that_may_not_leap_makes_every_round(timers: Timers) -> None:
    timers.leaps.may_leap = bool
    timers.round(10, "round")
    assert len(timers.calls_in(3600)) == 360


def test_time_does_not_leap_over_its_limit(timers: Timers) -> None:
    timers.leaps.limit = 1234.5
    timers.round(10, "round")
    assert timers.calls_in(1300)[:3] == [(1219.5, "round"), (1220, "round"), (1230, "round")]


async def moment_of_timeout(*, is_round: bool) -> float:
    """Return the time at which a timeout of 30 s is over, beside an event that comes at 1800."""
    asyncio.get_running_loop().call_later(1800, bool)
    with pytest.raises(TimeoutError):
        async with clock.timeout(30, is_round=is_round):
            await asyncio.Event().wait()
    return clock.monotonic()


def test_timeout_of_a_round_is_passed_over(timers: Timers) -> None:
    assert timers.loop.run_until_complete(moment_of_timeout(is_round=False)) == 30
    assert timers.loop.run_until_complete(moment_of_timeout(is_round=True)) == pytest.approx(1785)


def digest(path: Path) -> str:
    found = read_scenario(path.read_text(), path.name, FOLDER)
    return run_scenario(found, FOLDER, found.seed)[0].digest


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_have_the_digest_that_they_have_without_leaps(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with a probe in each period."""
    leaping = digest(path)
    monkeypatch.setattr(leaps, "LEAP_SECONDS_MIN", math.inf)
    monkeypatch.setattr(Life, "seconds_to_next_answer", lambda life: 0.0)
    assert leaping == digest(path)


QUIET = f"""
until: 40m
nodes: [{{name: n, count: 3}}]
manifests: [{web(6)}]
actions:
- {{at: 15m, crash: {{nodes: {{names: [n-2]}}, for: 10m}}}}
- {{at: 35m, scale: {{target: {{kind: Deployment, name: web}}, replicas: 9}}}}
"""


def test_samples_of_a_run_are_those_without_leaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for their revisions, which count the heartbeats."""
    found = scenario(QUIET)
    _, leaping = run_scenario(found, FOLDER, 1)
    monkeypatch.setattr(leaps, "LEAP_SECONDS_MIN", math.inf)
    _, stepping = run_scenario(found, FOLDER, 1)
    both = ([replace(each, revision=0) for each in run.samples] for run in (leaping, stepping))
    assert next(both) == next(both)
    assert leaping.samples[-1].revision < stepping.samples[-1].revision, "there was a leap"


@pytest.mark.parametrize("moment", [240.0, 300.0, 777.7, 2000.0])
def test_run_that_is_stopped_within_a_leap_goes_on_as_if_it_had_not_been(moment: float) -> None:
    found = scenario(QUIET)

    stops = list[float]()

    async def stopped() -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HeldLoop)

        def go_on() -> None:
            stops.append(clock.monotonic())
            loop.release()

        loop.hold_at(moment, go_on)
        return (await Run(found, FOLDER, 1).execute()).digest

    with asyncio.Runner(loop_factory=lambda: HeldLoop(1, start_of(found))) as runner:
        assert runner.run(stopped()) == run_scenario(found, FOLDER, 1)[0].digest
    assert stops == [moment]
