"""Takes the actions of a scenario at their moments, and records what became of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from podling import clock, ids
from podling.client.base import Unreachable
from podling.machinery.durations import go_duration
from podling.machinery.errors import ApiError
from podling.sim.fault_actions import FaultActions
from podling.sim.manifests import ManifestProblem
from podling.sim.observation import Observation
from podling.sim.scenario import Scenario
from podling.sim.scenario_actions import VERBS, Action
from podling.sim.scenario_tasks import ScenarioTasks
from podling.sim.simulated_cluster import SimulatedCluster
from podling.sim.workload_actions import ActionFailed, WorkloadActions

REFUSALS = (ApiError, Unreachable, ActionFailed, ManifestProblem, ValueError)


class ActionRecord(Struct, frozen=True):
    """An action that happened, or that never did. ``error`` is empty if it succeeded."""

    at: float
    name: str
    error: str = ""


class Schedule:
    """The actions of one run.

    Args:
        folder: where the files are that the scenario names.
        tasks: runs the actions, one task each.
    """

    def __init__(
        self,
        scenario: Scenario,
        cluster: SimulatedCluster,
        observation: Observation,
        faults: FaultActions,
        folder: Path,
        tasks: ScenarioTasks,
    ) -> None:
        self._scenario = scenario
        self._observation = observation
        self._faults = faults
        self._workloads = WorkloadActions(cluster, folder, faults, scenario.extensions)
        self._tasks = tasks
        self.records: list[ActionRecord] = []
        self.last = 0.0
        """The second of the last action."""

    def start(self) -> None:
        """Apply the manifests, and take the actions when their time has come."""
        self._tasks.start("manifests", self._apply_manifests)
        for number, action in enumerate(self._scenario.actions):
            self._tasks.start(f"action-{number}", partial(self._play, number, action))

    def end(self) -> None:
        """Record the actions whose condition never held."""
        for number, awaited in self._observation.awaited.items():
            if not awaited.happened.is_set():
                name = name_of(self._scenario.actions[number], number)
                self._record(name, f"its condition never held: {awaited.judge.diagnosis()}")

    async def _apply_manifests(self) -> None:
        for source in self._scenario.manifests:
            await self._do("manifests", partial(self._workloads.apply, source))

    async def _play(self, number: int, action: Action) -> None:
        """Wait for an action's moments and take it."""
        name = name_of(action, number)
        if action.when is None:
            await clock.sleep((action.at or 0.0) - self._observation.seconds)
        elif not await self._condition(number, action, name):
            return
        first, count = self._observation.seconds, 0
        while True:
            if action.jitter:
                await clock.sleep(ids.uniform(0, action.jitter))
            await self._do(name, partial(self._act, action))
            count += 1
            if action.every is None or (action.times is not None and count >= action.times):
                return
            await clock.sleep(first + count * action.every - self._observation.seconds)

    async def _condition(self, number: int, action: Action, name: str) -> bool:
        """Wait until the condition of an action holds; record it if that took too long."""
        awaited = self._observation.awaited[number]
        if awaited.judge.holds():
            awaited.happened.set()
        if await clock.wait_for(awaited.happened, action.within):
            return True
        time = go_duration(action.within or 0)
        self._record(name, f"its condition did not hold within {time}: {awaited.judge.diagnosis()}")
        awaited.happened.set()  # it is recorded
        return False

    async def _act(self, action: Action) -> None:
        verb = verb_of(action)
        owner = self._workloads if hasattr(self._workloads, verb) else self._faults
        await getattr(owner, verb)(getattr(action, verb))

    async def _do(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except REFUSALS as error:
            self._record(name, str(error))
        else:
            self._record(name, "")

    def _record(self, name: str, error: str) -> None:
        self.last = self._observation.seconds
        self.records.append(ActionRecord(self.last, name, error))
        self._observation.log.write(clock.steady_now(), "action", name=name, error=error)


def verb_of(action: Action) -> str:
    """Return the name of the field that says what happens. Pure."""
    return next(name for name in VERBS if getattr(action, name) is not None)


def name_of(action: Action, number: int) -> str:
    """Return an action's own name, or its place and verb. Pure."""
    return action.name or f"{number + 1}. {verb_of(action).replace('_', ' ')}"
