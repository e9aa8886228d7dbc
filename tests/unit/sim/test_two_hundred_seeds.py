"""Two hundred seeds with drawn faults over the lives of pods: every checker is content with each of them.

A failure names the seed. ``podling sim`` replays it and shrinks it:

    python -m tests.support.fault_search FOLDER
    podling sim FOLDER/lives-N.yaml --seed SEED
"""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.sim.runner import run_scenario
from tests.support.fault_search import lives
from tests.support.planted_runs import failures_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("failures_expected")]

SCENARIOS = dict(lives())
SEEDS_OF_A_SCENARIO = -(-200 // len(SCENARIOS))


@pytest.mark.parametrize("name", SCENARIOS)
def test_drawn_faults_break_nothing_that_checkers_hold(name: str, tmp_path: Path) -> None:
    failures = {}
    for seed in range(1, SEEDS_OF_A_SCENARIO + 1):
        outcome, _ = run_scenario(SCENARIOS[name], tmp_path, seed)
        found = failures_of(outcome)
        if found:
            failures[seed] = found
    assert failures == {}
