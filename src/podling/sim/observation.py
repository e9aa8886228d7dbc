"""Everything that looks at a run: event log, figures, checkers, assertions and awaited conditions.

It is called with each write of the store, each change of a container and each event of a watch, at once and
in their order. A failure of its own ends the run and never reaches the component that wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from podling import clock
from podling.client.base import WatchEvent, WatchEventType
from podling.sim.assertions import AssertionWatch
from podling.sim.changes import Change, change_of
from podling.sim.checkers.base import Checker, ContainerChange, Delivery, Surroundings, Violation
from podling.sim.checkers.registry import CHECKERS
from podling.sim.conditions import Judge, judge_of
from podling.sim.connection import Request, WatchId
from podling.sim.convergence import Convergence
from podling.sim.event_log import EventLog, Sink
from podling.sim.scenario import Scenario
from podling.sim.scenario_parts import Condition
from podling.sim.statistics import Statistics
from podling.store.base import Event

VIOLATIONS_MAX = 100


class Awaited:
    """A condition of an action. ``happened`` is set once it holds, from the scenario's begin on."""

    def __init__(self, condition: Condition) -> None:
        self.judge: Judge = judge_of(condition)
        self.happened = asyncio.Event()


class Observation:
    """Observes one run.

    Args:
        begin: the time at which the scenario begins; ``begins_at`` corrects it.
        surroundings: facts for the checkers.
        sink: receives the lines of the event log.
    """

    def __init__(
        self, scenario: Scenario, begin: datetime, surroundings: Surroundings, sink: Sink | None
    ) -> None:
        self._begin = begin
        self.log = EventLog(begin, sink)
        self.statistics = Statistics(begin)
        self.convergence = Convergence()
        self.violations: list[Violation] = []
        self.assertions = [AssertionWatch(each) for each in scenario.assertions]
        self.awaited = {
            number: Awaited(each.when)
            for number, each in enumerate(scenario.actions)
            if each.when is not None
        }
        """The conditions of actions, by the action's number."""
        self.listeners: list[Callable[[Change], None]] = []
        self.failure: Exception | None = None
        self.failed = asyncio.Event()
        self._revision = 0
        names = scenario.checkers
        kinds = CHECKERS if names is None else {name: CHECKERS[name] for name in names}
        self._checkers: list[Checker] = [
            kind(surroundings, partial(self._violated, name)) for name, kind in kinds.items()
        ]
        self._on_change = self._hooks("change")
        self._on_container = self._hooks("container")
        self._on_delivery = self._hooks("delivery")
        self._on_request = self._hooks("request")
        self._on_answer_lost = self._hooks("answer_lost")

    @property
    def begin(self) -> datetime:
        return self._begin

    @property
    def seconds(self) -> float:
        """The seconds since the scenario began; negative before."""
        return (clock.steady_now() - self._begin).total_seconds()

    def begins_at(self, begin: datetime) -> None:
        """Set the time at which the scenario begins."""
        self._begin = self.log.begin = self.statistics.begin = begin

    def write(self, event: Event) -> None:
        """The store has committed a write."""
        self._revision = event.revision
        change = change_of(event)
        if change is not None:
            self.guarded(self._change, change)

    def container(self, change: ContainerChange) -> None:
        """A container has changed."""
        self.guarded(self._container, change)

    def delivery(self, watch: WatchId, event: WatchEvent[Any]) -> None:
        """A watch has delivered an event."""
        revision = int(event.object.metadata.resource_version or 0)
        delivery = Delivery(watch, revision, event.type is WatchEventType.BOOKMARK)
        for hook in self._on_delivery:
            self.guarded(hook, delivery)

    def revision(self) -> int:
        """Return the revision of the last write."""
        return self._revision

    def request(self, request: Request) -> None:
        """The server has answered a request."""
        for hook in self._on_request:
            self.guarded(hook, request)

    def answer_lost(self, part: str) -> None:
        """A part does not get the answer to a request that was carried out."""
        for hook in self._on_answer_lost:
            self.guarded(hook, part)

    def tick(self) -> None:
        """Some seconds have passed."""
        for checker in self._checkers:
            self.guarded(type(checker).tick, checker)

    def end(self, *, is_complete: bool) -> None:
        """The run is over."""
        for watch in self.assertions:
            watch.end(self.seconds, is_complete=is_complete)
        if is_complete:
            for checker in self._checkers:
                checker.end()
        self.statistics.end(clock.steady_now())

    def guarded(self, work: Callable[[Any], object], value: Any) -> None:
        """Do ``work``; remember its failure, which is the simulator's own."""
        try:
            work(value)
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End the run with an error of the simulator."""
        self.failure = self.failure or error
        self.failed.set()

    def _change(self, change: Change) -> None:
        self.log.change(change)
        self.statistics.change(change)
        self.convergence.change(change)
        for hook in self._on_change:
            hook(change)
        seconds = self.seconds
        for watch in self.assertions:
            watch.change(change, seconds)
        for each in self.awaited.values():
            if each.judge.note(change) and seconds >= 0 and each.judge.holds():
                each.happened.set()
        for listener in self.listeners:
            listener(change)

    def _container(self, change: ContainerChange) -> None:
        self.log.container(change)
        for hook in self._on_container:
            hook(change)

    def _hooks(self, name: str) -> list[Callable[[Any], None]]:
        """Return the methods of this name of the checkers that have one of their own."""
        base = getattr(Checker, name)
        return [getattr(each, name) for each in self._checkers if getattr(type(each), name) is not base]

    def _violated(self, checker: str, text: str) -> None:
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(clock.steady_now(), checker, text, self.seconds))
        self.log.write(clock.steady_now(), "violation", checker=checker, text=text)
