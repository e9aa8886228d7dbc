"""Scenarios for a search with many seeds: lives of pods and the examples, with faults that each seed draws.

    python -m tests.support.fault_search FOLDER
    podling sim FOLDER/lives-1.yaml --seeds 1..1000

The lives are those of ``stories``, eight in a scenario, whose pods are deleted later. The examples keep their
workloads and actions, and lose the assertions that hold without faults only. Every scenario ends with a time
without faults, in which the checkers that wait for one look at what is left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podling.sim.failure_search import written_out
from podling.sim.scenario import RandomFaults, Scenario
from podling.sim.scenario_actions import VERBS, Action, Delete, Target
from podling.sim.scenario_file import read_scenario
from podling.sim.scenario_parts import Duration, ManifestSource, NodeGroup
from podling.sim.scenario_writing import scenario_text
from tests.support.scenarios import EXAMPLES
from tests.support.stories import IMAGES, STORIES

LIVES_OF_A_SCENARIO = 8
QUIET_SECONDS = 540.0
"""The longest wait of a checker after the last fault is five minutes; controllers then have some more."""


def scenarios() -> Mapping[str, Scenario]:
    """Return the scenarios by name."""
    return dict((*lives(), *examples()))


def lives() -> Iterator[tuple[str, Scenario]]:
    """Yield scenarios of pods on two nodes, which begin together and are deleted one after the other."""
    names = sorted(STORIES)
    for number, start in enumerate(range(0, len(names), LIVES_OF_A_SCENARIO), 1):
        chosen = names[start : start + LIVES_OF_A_SCENARIO]
        yield f"lives-{number}", scenario_of_lives(chosen)


def scenario_of_lives(
    names: list[str], *, faults_until: float = 120.0, until: float | None = None
) -> Scenario:
    """Return a scenario of some lives. ``until``: its end; None: a time after the last fault."""
    pods = [msgspec.to_builtins(STORIES[name].pod(name)) for name in names]
    objects = tuple({"apiVersion": "v1", "kind": "Pod", **plain} for plain in pods)
    deletions = [
        Action(
            at=Duration(20 + 12 * number),
            jitter=Duration(60),
            delete=Delete(target=Target(kind="Pod", name=name)),
        )
        for number, name in enumerate(names)
    ]
    return Scenario(
        until=Duration(faults_until + QUIET_SECONDS if until is None else until),
        nodes=(NodeGroup(name="n", count=2),),
        manifests=(ManifestSource(objects=objects),),
        images=IMAGES,
        actions=tuple(deletions),
        faults=RandomFaults(count=6, after=Duration(5), before=Duration(faults_until), lasting=Duration(60)),
    )


def examples() -> Iterator[tuple[str, Scenario]]:
    """Yield the examples with faults during their actions."""
    for path in EXAMPLES:
        found = written_out(read_scenario(path.read_text(), str(path), path.parent), path.parent)
        until = max((ends_at(each) for each in found.actions), default=0.0)
        until = max(until, 240.0)
        yield (
            path.stem,
            replace(
                found,
                until=Duration(until + QUIET_SECONDS),
                assertions=(),
                settles_within=None if found.settles_within is None else Duration(QUIET_SECONDS - 120),
                faults=RandomFaults(count=8, after=Duration(5), before=Duration(until), lasting=Duration(60)),
            ),
        )


def ends_at(action: Action) -> float:
    """Return the moment at which an action and what it breaks are over, if it does not wait for anything."""
    lasting = max(getattr(getattr(action, verb), "lasting", None) or 0.0 for verb in VERBS)
    repeated = (action.every or 0.0) * ((action.times or 1) - 1)
    return (action.at or 0.0) + repeated + action.jitter + lasting


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, scenario in scenarios().items():
        (folder / f"{name}.yaml").write_text(scenario_text(scenario, ""))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
