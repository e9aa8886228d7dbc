"""Runs that fail are shrunk to files that fail."""

from __future__ import annotations

import pytest

from podling.sim.failure_search import shrink_failure, written_out
from podling.sim.runner import run_scenario
from podling.sim.scenario_file import read_scenario
from podling.sim.scenario_writing import scenario_text
from podling.sim.shrinking import Failure, failure_of, objects_of
from tests.support.scenarios import FOLDER, scenario, web

FAILING = f"""
until: 1m
nodes: [{{name: n, count: 2}}]
manifests: [{web(3)}, {{objects: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}}}], copies: 3}}]
actions:
- {{at: 10s, uncordon: {{}}}}
- {{at: 20s, jitter: 5s, delete: {{target: {{kind: Deployment, name: web}}}}}}
assertions:
- {{name: a deployment, atTheEnd: {{count: {{kind: Deployment, equals: 1}}}}}}
- {{name: always true, always: {{cel: 'true'}}}}
"""


def test_smallest_scenario_fails_by_itself() -> None:
    large = scenario(FAILING)
    outcome, _ = run_scenario(large, FOLDER, 3)
    found = shrink_failure(large, FOLDER, 3, outcome)
    assert found is not None
    assert found.failure == Failure("assertion", "a deployment")
    assert found.text == "did not hold at the end:\n0 deployments; wanted 1"
    assert found.is_smallest
    assert found.objects == 0
    assert not found.scenario.actions
    again = read_scenario(scenario_text(found.scenario), "smallest.yaml", FOLDER)
    assert failure_of(run_scenario(again, FOLDER, again.seed)[0]) == found.failure


def test_time_without_end_is_not_taken() -> None:
    large = scenario(FAILING)
    outcome, _ = run_scenario(large, FOLDER, 3)
    found = shrink_failure(large, FOLDER, 3, outcome, seconds=0)
    assert found is not None
    assert not found.is_smallest
    assert found.runs == 0


def test_run_that_passed_has_nothing_to_shrink() -> None:
    good = scenario("until: 5s")
    outcome, _ = run_scenario(good, FOLDER, 0)
    assert shrink_failure(good, FOLDER, 0, outcome) is None


@pytest.mark.parametrize("folder_is_there", [True, False])
def test_objects_of_files_are_written_out(folder_is_there: bool) -> None:
    named = scenario("manifests: [{file: shop.yaml}]")
    found = written_out(named, FOLDER if folder_is_there else FOLDER / "none")
    kinds = [each["kind"] for each in objects_of(found)]
    assert kinds == (["Deployment", "PodDisruptionBudget"] if folder_is_there else [])
