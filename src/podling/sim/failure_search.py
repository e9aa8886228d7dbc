"""Finds the smallest scenario that fails as a run did, within a time. It writes and prints nothing."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from podling import clock
from podling.sim.manifests import ManifestProblem, manifests_of
from podling.sim.random_faults import drawn
from podling.sim.runner import Outcome, run_scenario
from podling.sim.scenario import Scenario
from podling.sim.scenario_actions import Action
from podling.sim.scenario_parts import ManifestSource
from podling.sim.shrinking import (
    Failure,
    ended_at,
    fails_like,
    failure_of,
    focused,
    objects_of,
    shrink,
)

SHRINK_SECONDS = 120.0
"""The real time that shrinking takes at most, unless the caller says otherwise."""

logger = logging.getLogger(__name__)


class Shrunk(Struct, frozen=True):
    """The smallest scenario that was found to fail. ``is_smallest``: no step makes it smaller."""

    scenario: Scenario
    failure: Failure
    text: str
    runs: int
    is_smallest: bool

    @property
    def objects(self) -> int:
        return len(objects_of(self.scenario))


def shrink_failure(
    scenario: Scenario, folder: Path, seed: int, outcome: Outcome, seconds: float = SHRINK_SECONDS
) -> Shrunk | None:
    """Return the smallest scenario that fails as ``outcome`` did.

    None if the run was interrupted or has passed. The result names no files, and needs no other seed.
    """
    failure = failure_of(outcome)
    if failure is None or not outcome.is_complete:
        return None
    search = _Search(folder, seed, failure, seconds)
    current = replace(written_out(drawn(scenario, seed), folder), seed=seed, faults=None)
    for bolder in (focused(current, failure), ended_at(focused(current, failure), _moment(outcome))):
        if search.fails(bolder):
            current = bolder
    for smaller in shrink(current, search.fails):
        current = smaller
        if search.is_over:
            break
    return Shrunk(current, failure, search.text or _text(outcome, failure), search.runs, not search.is_over)


def written_out(scenario: Scenario, folder: Path) -> Scenario:
    """Return the scenario with the objects of its files and their copies in it."""

    def source(each: ManifestSource) -> ManifestSource:
        try:
            found = manifests_of(each, folder, scenario.extensions)
            return ManifestSource(objects=tuple(manifest.plain for manifest in found))
        except ManifestProblem:
            return each

    def action(each: Action) -> Action:
        return each if each.apply is None else replace(each, apply=source(each.apply))

    objects = tuple(plain for each in scenario.manifests for plain in source(each).objects)
    manifests = (ManifestSource(objects=objects),) if objects else ()
    return replace(scenario, manifests=manifests, actions=tuple(map(action, scenario.actions)))


class _Search:
    """Runs scenarios until the time is over; after that nothing fails any more."""

    def __init__(self, folder: Path, seed: int, failure: Failure, seconds: float) -> None:
        self._folder = folder
        self._seed = seed
        self._failure = failure
        self._until = clock.machine_monotonic() + seconds
        self.runs = 0
        self.text = ""
        """The text of the last failure."""

    @property
    def is_over(self) -> bool:
        return clock.machine_monotonic() >= self._until

    def fails(self, scenario: Scenario) -> bool:
        if self.is_over:
            return False
        self.runs += 1
        outcome = _outcome(scenario, self._folder, self._seed)
        if outcome is None or not fails_like(outcome, self._failure):
            return False
        self.text = _text(outcome, self._failure)
        return True


def _outcome(scenario: Scenario, folder: Path, seed: int) -> Outcome | None:
    """Run a scenario without the components' log; None if it cannot run at all."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        return run_scenario(scenario, folder, seed)[0]
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except Exception as error:
        problem = error
    finally:
        logging.disable(before)
    logger.debug("a smaller scenario cannot run", exc_info=problem)
    return None


def _moment(outcome: Outcome) -> float:
    """Return the second of the failure; the end of the run if it is not known."""
    if outcome.violations:
        return outcome.violations[0].second
    return outcome.seconds


def _text(outcome: Outcome, failure: Failure) -> str:
    if failure.kind == "checker":
        return next(each.text for each in outcome.violations if each.checker == failure.name)
    if failure.kind == "assertion":
        return next(each.text for each in outcome.results if each.name == failure.name)
    return next(each.error for each in outcome.actions if each.name == failure.name and each.error)
