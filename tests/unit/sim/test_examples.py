"""The scenarios of ``examples/scenarios`` hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.sim.runner import run_scenario
from podling.sim.scenario_file import read_scenario
from tests.support.scenarios import EXAMPLES, FOLDER


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_scenario_passes(path: Path) -> None:
    scenario = read_scenario(path.read_text(), path.name, FOLDER)
    outcome, _ = run_scenario(scenario, FOLDER, scenario.seed)
    assert outcome.passed, outcome


def test_webhook_that_reviews_its_own_pods_never_comes_back(tmp_path: Path) -> None:
    text = (FOLDER / "webhook-down.yaml").read_text()
    operator = (FOLDER / "operator.yaml").read_text()
    start = operator.index("  namespaceSelector:")
    end = operator.index("  failurePolicy:")
    # At the beginning the webhook must run before it is configured.
    head, mark, configuration = (operator[:start] + operator[end:]).partition(
        "---\napiVersion: admissionregistration"
    )
    (tmp_path / "operator.yaml").write_text(head)
    (tmp_path / "hook.yaml").write_text(mark + configuration)
    text = text.replace("actions:\n", "actions:\n- {at: 1m, apply: {file: hook.yaml}}\n")
    scenario = read_scenario(text, "webhook-down.yaml", tmp_path)
    outcome, _ = run_scenario(scenario, tmp_path, scenario.seed)
    failed = {each.name for each in outcome.results if not each.passed}
    assert "the shop has grown once the webhook runs on another node" in failed
    assert "at the end all run version 2" in failed
