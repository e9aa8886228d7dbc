"""Known bugs, planted one at a time, are found by the checkers: that is how we know that they work.

``tests/planted_bugs`` has the bugs as diffs, the scenarios whose seeds find them, and for each bug the
smallest scenario that fails with it, as the shrinker wrote it. Its comment says where it comes from.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from podling.machinery.durations import go_duration
from podling.sim.checkers.registry import CHECKERS
from podling.sim.runner import run_scenario
from podling.sim.scenario import Scenario
from podling.sim.scenario_file import read_scenario
from podling.sim.shrinking import failure_of, objects_of
from tests.support.planted_bugs import FOLDER, NAMES, ROOT, PatchFails, patched

OBJECTS_MAX = 5
SCENARIOS = sorted(path.name for path in (FOLDER / "scenarios").glob("*.yaml"))


def smallest(name: str) -> Scenario:
    return read_scenario((FOLDER / f"{name}.yaml").read_text(), name, FOLDER)


def failures_expected_of(scenario: Scenario) -> list[str]:
    """Return the names of what a smallest scenario is reduced to: a checker, or that all settles."""
    if scenario.settles_within is not None:
        return [
            f"everything settles within {go_duration(scenario.settles_within)} of the last action or fault"
        ]
    return list(scenario.checkers or ())


def test_there_are_twenty_bugs_with_scenarios() -> None:
    assert len(NAMES) >= 20
    assert [path.stem for path in sorted(FOLDER.glob("*.yaml"))] == NAMES


def test_every_checker_and_the_end_of_every_run_have_a_bug_to_find() -> None:
    scenarios = [smallest(name) for name in NAMES]
    assert {checker for each in scenarios for checker in each.checkers or ()} == set(CHECKERS)
    assert any(each.settles_within is not None for each in scenarios)


@pytest.mark.parametrize("name", NAMES)
def test_diff_still_applies(name: str) -> None:
    for file, text in patched((FOLDER / f"{name}.diff").read_text()).items():
        compile(text, file, "exec")
        assert text != (ROOT / file).read_text()


def test_diff_of_other_text_is_refused() -> None:
    diff = "--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-no such line\n+another\n"
    with pytest.raises(PatchFails, match=r"README\.md has these lines 0 times"):
        patched(diff)


@pytest.mark.parametrize("name", NAMES)
def test_smallest_scenario_is_small_and_passes_without_the_bug(name: str) -> None:
    scenario = smallest(name)
    assert len(objects_of(scenario)) <= OBJECTS_MAX
    logging.disable(logging.CRITICAL)
    try:
        outcome, _ = run_scenario(scenario, FOLDER, scenario.seed)
    finally:
        logging.disable(logging.NOTSET)
    assert failure_of(outcome) is None


@pytest.mark.slow
def test_each_bug_is_found_in_its_smallest_scenario() -> None:
    command = [sys.executable, "-m", "tests.support.planted_runs"]
    done = subprocess.run(command, cwd=Path(ROOT), capture_output=True, text=True, check=True)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    expected = {name: failures_expected_of(smallest(name)) for name in NAMES}
    assert {name: found.get(name) for name in NAMES} == expected, done.stderr


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_that_finds_bugs_passes_without_them(name: str) -> None:
    scenario = read_scenario((FOLDER / "scenarios" / name).read_text(), name, FOLDER)
    logging.disable(logging.CRITICAL)
    try:
        outcome, _ = run_scenario(scenario, FOLDER, scenario.seed)
    finally:
        logging.disable(logging.NOTSET)
    assert failure_of(outcome) is None, outcome
