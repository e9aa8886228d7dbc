"""Runs a scenario: a cluster in memory, its actions and its checks, in virtual time.

``Run`` works on the running loop; ``run_scenario`` makes a virtual-time loop for it. One seed decides all
that is random, so the same scenario and seed give the same event log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.machinery.durations import go_duration
from podling.machinery.network_ranges import Network
from podling.runtime.sim import Scenario as Scripts
from podling.sim import loop
from podling.sim.added_kinds import extensions_named
from podling.sim.assertions import AssertionWatch, Result
from podling.sim.checkers.base import Violation
from podling.sim.event_log import Sink
from podling.sim.fault_actions import FaultActions
from podling.sim.faulty_store import FaultyStore
from podling.sim.observation import Observation
from podling.sim.random_faults import drawn
from podling.sim.scenario import Scenario
from podling.sim.scenario_tasks import ScenarioTasks
from podling.sim.schedule import ActionRecord, Schedule
from podling.sim.servers.scripted_handler import ScriptedHandler
from podling.sim.simulated_cluster import ClusterSettings, SimulatedCluster
from podling.sim.simulated_machine import SimulatedMachine
from podling.sim.statistics import Statistics
from podling.sim.traffic import TrafficGenerator
from podling.sim.workload_actions import settings_of
from podling.store.base import Event

START_SECONDS = 5.0
PREPARATION_SECONDS = 60.0
"""The time that the cluster has to start before a scenario that begins at a wall time."""
"""The time after the nodes are Ready before the scenario begins: controllers make their first objects."""
TICK_SECONDS = 10.0
SAMPLES_MAX = 400
"""A run has about so many samples, at least one second apart."""
INSTANT = timedelta(milliseconds=1)

Progress = Callable[["Run"], None]


class Outcome(Struct, frozen=True):
    """The end of a run. ``seconds`` is virtual time."""

    seed: int
    digest: str
    lines: int
    seconds: float
    is_complete: bool
    results: tuple[Result, ...]
    violations: tuple[Violation, ...]
    actions: tuple[ActionRecord, ...]

    @property
    def passed(self) -> bool:
        """Return whether everything held, and every action succeeded."""
        good = all(each.passed for each in self.results) and not any(each.error for each in self.actions)
        return good and not self.violations and self.is_complete


class Run:
    """One run of a scenario on the running loop.

    Args:
        folder: where the files are that the scenario names.
        sink: receives the lines of the event log.
        progress: called at every tick.
    """

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        seed: int,
        sink: Sink | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.scenario = scenario = drawn(scenario, seed)
        self.seed = seed
        self._progress = progress
        self.observation = Observation(scenario, clock.steady_now(), self, sink)
        store = FaultyStore(self._written)
        self.cluster = SimulatedCluster(self._settings(), store)
        for server in scenario.servers:
            self.cluster.servers.serve(server.name, ScriptedHandler(server))
        self.cluster.observe_deliveries = self.observation.delivery
        self.cluster.observe_requests(self.observation)
        self._tasks = ScenarioTasks(self.observation.fail)
        self._faults = FaultActions(self.cluster, store, self._tasks)
        self._schedule = Schedule(scenario, self.cluster, self.observation, self._faults, folder, self._tasks)
        self._traffic = [TrafficGenerator(each, self.cluster) for each in scenario.traffic]
        self.observation.listeners.extend(each.change for each in self._traffic)

    @property
    def statistics(self) -> Statistics:
        return self.observation.statistics

    @property
    def seconds(self) -> float:
        """The seconds since the scenario began."""
        return self.observation.seconds

    def quiet_since(self) -> datetime | None:
        return self._faults.quiet_since()

    def now(self) -> datetime:
        return clock.steady_now()

    async def execute(self) -> Outcome:
        """Run to the end, or until cancelled, which gives the outcome so far."""
        is_complete = False
        try:
            try:
                await self._prepare()
                self._start_tasks()
                is_complete = await self._until_end()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or not task.cancelling():
                    raise
                task.uncancel()
            return self._outcome(is_complete=is_complete)
        finally:
            await self._tasks.close()
            await self.cluster.stop()

    async def _prepare(self) -> None:
        """Start the cluster; the scenario begins when its nodes are Ready and its first objects are there."""
        await self.cluster.start()
        for group in self.scenario.nodes:
            for settings in settings_of(group):
                await self.cluster.add_node(settings)
        await self.cluster.nodes_ready()
        if self.scenario.begin is not None:
            begin = self.scenario.begin - timedelta(seconds=START_SECONDS)
            await clock.sleep((begin - clock.steady_now()).total_seconds())
        self.observation.begins_at(clock.steady_now() + timedelta(seconds=START_SECONDS))
        await clock.sleep(START_SECONDS)

    def _start_tasks(self) -> None:
        self._tasks.start("tick", self._tick)
        self._tasks.start("samples", self._sample)
        for generator in self._traffic:
            self._tasks.start("traffic", generator.run)
        self._schedule.start()
        for watch in self.observation.assertions:
            self._tasks.start("assertion", partial(self._look_at_moments, watch))

    async def _until_end(self) -> bool:
        """Wait for the end of the scenario; return whether it was reached."""
        await clock.wait_for(self.observation.failed, self.scenario.until)
        if self.observation.failure is not None:
            raise self.observation.failure
        return True

    def so_far(self) -> Outcome:
        """Return what is decided at this moment."""
        results = (each.result for each in self.observation.assertions)
        return Outcome(
            seed=self.seed,
            digest=self.observation.log.digest,
            lines=self.observation.log.lines,
            seconds=self.seconds,
            is_complete=False,
            results=tuple(each for each in results if each is not None),
            violations=tuple(self.observation.violations),
            actions=tuple(self._schedule.records),
        )

    def _outcome(self, *, is_complete: bool) -> Outcome:
        seconds = self.seconds
        if is_complete:
            self._schedule.end()
        self.observation.end(is_complete=is_complete)
        found = self.so_far()
        settled = self._settled(seconds) if is_complete else ()
        return replace(found, is_complete=is_complete, results=(*found.results, *settled))

    def _settled(self, seconds: float) -> tuple[Result, ...]:
        """Return the implied assertion: some time after the last action everything is as its spec says."""
        within = self.scenario.settles_within
        if within is None:
            return ()
        name = f"everything settles within {go_duration(within)} of the last action or fault"
        wrong = self.observation.convergence.problems()
        since = self._faults.quiet_since()
        if since is None:
            lasting = ", ".join(dict.fromkeys(self._faults.active))
            text = "\n".join((f"faults last to the end: {lasting}", *wrong))
            return (Result(name, False, seconds, text),)
        quiet = (since - self.observation.begin).total_seconds()
        if seconds < max(quiet, self._schedule.last) + within:
            return (Result(name, False, seconds, "the run ended before that time", is_decided=False),)
        return (Result(name, not wrong, seconds, "\n".join(wrong) or "settled"),)

    async def _tick(self) -> None:
        late = 0.0
        while True:
            late = await clock.sleep_until_round(TICK_SECONDS, late=late)
            self.observation.tick()
            if self._progress is not None:
                self._progress(self)

    async def _sample(self) -> None:
        period = max(1.0, self.scenario.until / SAMPLES_MAX)
        begin, count, late = clock.steady_now(), 0, 0.0
        while True:
            # After a leap all that it has passed over: meanwhile nothing has changed.
            while (moment := begin + timedelta(seconds=count * period)) <= clock.steady_now() + INSTANT:
                self.statistics.sample(moment)
                count += 1
            late = await clock.sleep_until_round(period, late=late)

    async def _look_at_moments(self, watch: AssertionWatch) -> None:
        """Look at an assertion when it begins to count, and when its time is over."""
        for moment in (watch.assertion.after, watch.deadline):
            if moment is not None:
                await clock.sleep(moment - self.seconds)
                watch.look(self.seconds)

    def _written(self, event: Event) -> None:
        self.observation.write(event)

    def _settings(self) -> ClusterSettings:
        scripts = Scripts(images=self.scenario.images)

        def make(node: str, block: Network) -> SimulatedMachine:
            behaviours = self.scenario.behaviours
            return SimulatedMachine(
                node, scripts, behaviours, self.observation.container, pod_cidr=str(block)
            )

        return ClusterSettings(
            options=self.scenario.controllers,
            make_machine=make,
            extensions=extensions_named(self.scenario.extensions),
        )


def run_scenario(
    scenario: Scenario,
    folder: Path,
    seed: int,
    sink: Sink | None = None,
    progress: Progress | None = None,
) -> tuple[Outcome, Statistics]:
    """Run a scenario on a virtual-time loop of its own."""

    async def main() -> tuple[Outcome, Statistics]:
        run = Run(scenario, folder, seed, sink, progress)
        return await run.execute(), run.statistics

    return loop.run(main(), seed=seed, start=start_of(scenario))


def start_of(scenario: Scenario) -> datetime:
    """Return the wall time at which the cluster of a scenario starts."""
    return loop.EPOCH if scenario.begin is None else scenario.begin - timedelta(seconds=PREPARATION_SECONDS)
