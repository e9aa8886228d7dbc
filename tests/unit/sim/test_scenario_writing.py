"""Scenarios as text are read as what they were."""

from __future__ import annotations

import pytest

from podling.sim.random_faults import drawn
from podling.sim.scenario_file import read_scenario
from podling.sim.scenario_writing import scenario_text
from tests.support.planted_bugs import FOLDER as BUGS
from tests.support.scenarios import EXAMPLES, scenario, web

FAULTY = sorted((BUGS / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("path", [*EXAMPLES, *FAULTY], ids=lambda path: path.stem)
def test_written_scenario_is_read_again(path: object) -> None:
    from pathlib import Path

    assert isinstance(path, Path)
    found = read_scenario(path.read_text(), path.name, path.parent)
    assert read_scenario(scenario_text(found), "again", path.parent) == found
    for seed in range(10):
        explicit = drawn(found, seed)
        assert read_scenario(scenario_text(explicit), "again", path.parent) == explicit


def test_defaults_are_left_out() -> None:
    text = scenario_text(
        scenario(f"manifests: [{web(1)}]\nactions: [{{at: 90s, uncordon: {{}}}}]"), "Why.\nAnd how."
    )
    assert text.startswith("# Why.\n# And how.\nuntil: 300\nnodes:\n- name: n\n  count: 2\nmanifests:\n")
    assert text.endswith("actions:\n- at: 90\n  uncordon: {}\n")
