"""Smaller scenarios that still fail in the same way. Pure, but for the runs that the caller makes.

The shrinker tries smaller scenarios and keeps each one that fails like the first one did. It goes on until
no single step makes the scenario smaller, or the caller's limit is reached. The steps: an earlier end, fewer
actions, objects, nodes, and settings; fewer replicas; shorter and more definite actions. Lists shrink by
halves, quarters and so on, at last by single items (delta debugging: Zeller and Hildebrandt, "Simplifying
and Isolating Failure-Inducing Input").
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podling.sim.runner import Outcome
from podling.sim.scenario import Scenario
from podling.sim.scenario_actions import VERBS, Action
from podling.sim.scenario_parts import Duration, ManifestSource, NodeGroup

T = TypeVar("T")

AFTER_SECONDS = 20.0
"""The time that a shortened scenario goes on after the moment of its failure."""
COUNTS = ("replicas", "completions", "parallelism")


class Failure(Struct, frozen=True):
    """The way in which a run failed: ``name`` is that of a checker, an assertion or an action."""

    kind: str
    name: str


Fails = Callable[[Scenario], bool]
"""Runs a scenario and returns whether it fails in the same way."""


def failure_of(outcome: Outcome) -> Failure | None:
    """Return the first failure of a run that was not interrupted; None if it passed."""
    if outcome.violations:
        return Failure("checker", outcome.violations[0].checker)
    for result in outcome.results:
        if not result.passed:
            return Failure("assertion", result.name)
    return next((Failure("action", each.name) for each in outcome.actions if each.error), None)


def first_failure(outcome: Outcome) -> str:
    """Return the first thing that went wrong in a run."""
    if outcome.violations:
        return f"{outcome.violations[0].checker}: {outcome.violations[0].text}"
    for result in outcome.results:
        if not result.passed:
            return f"{result.name}: {result.text}"
    return next((f"{each.name}: {each.error}" for each in outcome.actions if each.error), "interrupted")


def fails_like(outcome: Outcome, failure: Failure) -> bool:
    """Return whether a run failed in this way, perhaps among others."""
    if failure.kind == "checker":
        return any(each.checker == failure.name for each in outcome.violations)
    if failure.kind == "assertion":
        return any(
            each.name == failure.name and not each.passed and each.is_decided for each in outcome.results
        )
    return any(each.name == failure.name and each.error for each in outcome.actions)


def focused(scenario: Scenario, failure: Failure) -> Scenario:
    """Return the scenario with nothing that could fail but what did."""
    if failure.kind == "checker":
        return replace(scenario, checkers=(failure.name,), assertions=(), settles_within=None)
    kept = tuple(each for each in scenario.assertions if each.name == failure.name)
    settles = scenario.settles_within if failure.kind == "assertion" and not kept else None
    return replace(scenario, checkers=(), assertions=kept, settles_within=settles)


def shrink(scenario: Scenario, fails: Fails) -> Iterator[Scenario]:
    """Yield smaller and smaller scenarios that fail; the last one is the result.

    The caller may stop at any time. Nothing is yielded if no smaller scenario fails.
    """
    current, has_shrunk = scenario, True
    while has_shrunk:
        has_shrunk = False
        for step in STEPS:
            place = 0
            while True:
                found = _first(step(current), place, fails)
                if found is None:
                    break
                place, current = found
                has_shrunk = True
                yield current


def _first(candidates: Iterator[Scenario], place: int, fails: Fails) -> tuple[int, Scenario] | None:
    """Return the first candidate from ``place`` on that fails, and its place."""
    for number, candidate in enumerate(candidates):
        if number >= place and fails(candidate):
            return number, candidate
    return None


def without_parts(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield the items without all, without each half, quarter and so on, and without each single one."""
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size = size // 2


def ended_at(scenario: Scenario, moment: float) -> Scenario:
    """Return the scenario with an end soon after a moment, and without the actions that come later."""
    until = Duration(min(scenario.until, max(round(moment + AFTER_SECONDS), 1)))
    actions = tuple(each for each in scenario.actions if each.at is None or each.at <= until)
    return replace(scenario, until=until, actions=actions)


def _fewer_actions(scenario: Scenario) -> Iterator[Scenario]:
    for actions in without_parts(scenario.actions):
        yield replace(scenario, actions=actions)


def _fewer_objects(scenario: Scenario) -> Iterator[Scenario]:
    for objects in without_parts(objects_of(scenario)):
        yield _with_objects(scenario, objects)


def _fewer_nodes(scenario: Scenario) -> Iterator[Scenario]:
    for groups in without_parts(scenario.nodes):
        if groups:
            yield replace(scenario, nodes=groups)
    for number, group in enumerate(scenario.nodes):
        for count in _smaller(group.count, 1):
            yield _with_group(scenario, number, replace(group, count=count))


def _fewer_settings(scenario: Scenario) -> Iterator[Scenario]:
    if scenario.traffic:
        yield replace(scenario, traffic=())
    if scenario.images:
        yield replace(scenario, images={})
    if scenario.description:
        yield replace(scenario, description="")
    for servers in without_parts(scenario.servers):
        yield replace(scenario, servers=servers)
    for behaviours in without_parts(scenario.behaviours):
        yield replace(scenario, behaviours=behaviours)


def _smaller_counts(scenario: Scenario) -> Iterator[Scenario]:
    objects = objects_of(scenario)
    for number, each in enumerate(objects):
        spec: dict[str, Any] = each.get("spec") or {}
        for name in COUNTS:
            for count in _smaller(spec.get(name), 1):
                changed = copy.deepcopy(each)
                changed["spec"][name] = count
                yield _with_objects(scenario, (*objects[:number], changed, *objects[number + 1 :]))


def _simpler_actions(scenario: Scenario) -> Iterator[Scenario]:
    for number, action in enumerate(scenario.actions):
        for simpler in _simpler(action):
            actions = (*scenario.actions[:number], simpler, *scenario.actions[number + 1 :])
            yield replace(scenario, actions=actions)


def _simpler(action: Action) -> Iterator[Action]:
    if action.jitter:
        yield replace(action, jitter=Duration(0))
    if action.every is not None:
        yield replace(action, every=None, times=None)
        for times in _smaller(action.times, 2):
            yield replace(action, times=times)
    for verb in VERBS:
        part = getattr(action, verb)
        lasting = getattr(part, "lasting", None)
        if lasting is not None and lasting > 2:
            yield replace(action, **{verb: replace(part, lasting=Duration(lasting // 2))})
        if getattr(part, "share", 1.0) < 1.0:
            yield replace(action, **{verb: replace(part, share=1.0)})


def _earlier_end(scenario: Scenario) -> Iterator[Scenario]:
    for part in (0.5, 0.75, 0.9):
        until = Duration(round(scenario.until * part))
        if 1 <= until < scenario.until:
            yield replace(ended_at(scenario, until - AFTER_SECONDS), until=until)


STEPS: tuple[Callable[[Scenario], Iterator[Scenario]], ...] = (
    _fewer_actions,
    _fewer_objects,
    _fewer_nodes,
    _fewer_settings,
    _earlier_end,
    _smaller_counts,
    _simpler_actions,
)


def objects_of(scenario: Scenario) -> tuple[dict[str, Any], ...]:
    """Return the objects that a scenario's manifests write out, without those of files."""
    return tuple(each for source in scenario.manifests for each in source.objects)


def _with_objects(scenario: Scenario, objects: Sequence[dict[str, Any]]) -> Scenario:
    return replace(scenario, manifests=(ManifestSource(objects=tuple(objects)),) if objects else ())


def _with_group(scenario: Scenario, number: int, group: NodeGroup) -> Scenario:
    return replace(scenario, nodes=(*scenario.nodes[:number], group, *scenario.nodes[number + 1 :]))


def _smaller(count: object, least: int) -> Iterator[int]:
    """Yield smaller numbers, the smallest first."""
    if isinstance(count, int) and count > least:
        yield from sorted({least, (count + least) // 2, count - 1})
