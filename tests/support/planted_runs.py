"""Runs the smallest scenario of each planted bug with the bug in place.

Prints a line of JSON for each: its name and the names of the checkers, assertions and actions that failed.
Each bug needs a process of its own, made as a fork of one that has imported what no bug changes.

    python -m tests.support.planted_runs [NAME ...]
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from tests.support.planted_bugs import FOLDER, NAMES, plant

SEEDS_MAX = 60
"""The number of seeds that are tried after the scenario's own, with which the bug was once found: a change
of Podling changes what a seed draws."""
UNCHANGED = ("aiohttp", "cryptography.x509", "numpy", "yaml", "podling.api.core_v1", "podling.api.apps_v1")


def failures_with(name: str) -> list[str]:
    """Plant a bug in this process and return what fails in its smallest scenario."""
    plant(name)
    runner: ModuleType = import_module("podling.sim.runner")
    files: ModuleType = import_module("podling.sim.scenario_file")
    scenario = files.read_scenario((FOLDER / f"{name}.yaml").read_text(), name, FOLDER)
    found: list[str] = []
    for seed in (scenario.seed, *range(SEEDS_MAX)):
        outcome, _ = runner.run_scenario(scenario, FOLDER, seed)
        found = failures_of(outcome)
        if found:
            break
    return found


def failures_of(outcome: Any) -> list[str]:
    """Return the names of what failed in a run."""
    return sorted(
        {each.checker for each in outcome.violations}
        | {each.name for each in outcome.results if not each.passed}
        | {each.name for each in outcome.actions if each.error}
    )


def main(names: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    gc.disable()  # imports make much that stays
    for module in UNCHANGED:
        import_module(module)
    for name in names:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print(json.dumps([name, failures_with(name)]), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1:] or NAMES)
