"""The scenarios of ``examples/scenarios`` hold."""

from __future__ import annotations

import pytest

from podling.sim.runner import run_scenario
from podling.sim.scenario_file import read_scenario
from tests.support.scenarios import FOLDER

MANIFESTS = ("shop.yaml",)
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.yaml") if path.name not in MANIFESTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_scenario_passes(name: str) -> None:
    scenario = read_scenario((FOLDER / name).read_text(), name, FOLDER)
    outcome, _ = run_scenario(scenario, FOLDER, scenario.seed)
    assert outcome.passed, outcome
