"""Reading scenarios that were made from other sources."""

from __future__ import annotations

from pathlib import Path

import yaml

from podling.sim.importing.sources import Imported
from podling.sim.scenario import Scenario
from podling.sim.scenario_file import read_scenario


def moments(scenario: Scenario) -> list[float]:
    """Return the moments of the actions of a scenario that has no conditions."""
    return [float(each.at) for each in scenario.actions if each.at is not None]


def read(made: Imported) -> Scenario:
    """Return the scenario, checked as one that is read from a file."""
    return read_scenario(yaml.safe_dump(made.scenario, sort_keys=False), "made.yaml", Path())
