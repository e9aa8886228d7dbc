"""Ranges of seeds, and their runs in several processes."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from podling.sim.many_seeds import parse_seeds, run_seeds
from tests.support.scenarios import FOLDER, scenario


@pytest.mark.parametrize(("text", "seeds"), [("7", [7]), ("1..3", [1, 2, 3]), ("0..0", [0])])
def test_range_of_seeds_is_read(text: str, seeds: list[int]) -> None:
    assert list(parse_seeds(text)) == seeds


@pytest.mark.parametrize("text", ["", "a", "1..", "3..1", "1-3", "-1", "0..9999999"])
def test_other_text_is_no_range(text: str) -> None:
    with pytest.raises(ValueError, match="seeds"):
        parse_seeds(text)


@pytest.mark.slow
def test_processes_give_the_digests_of_one_process() -> None:
    played = scenario("until: 30s")
    alone = {each.seed: each.digest for each in run_seeds(played, FOLDER, range(3), 1)}
    apart = {each.seed: each.digest for each in run_seeds(played, FOLDER, range(3), 2)}
    assert alone == apart
    assert len(set(alone.values())) == 3


@pytest.mark.slow
def test_file_with_the_name_of_a_module_of_python_disturbs_no_process(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text("raise SystemExit('this is no module of Python')\n")
    (tmp_path / "scenario.yaml").write_text("until: 30s\nnodes:\n- name: n\n")
    podling = str(Path(sys.executable).with_name("podling"))
    command = [podling, "sim", "scenario.yaml", "--seeds", "1..3", "--jobs", "2"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")
    assert "3 of 3 seeds passed" in run.stdout


@pytest.mark.slow
def test_death_of_a_process_ends_the_search() -> None:
    outcomes = run_seeds(scenario("until: 30s"), FOLDER, range(1000), 2)
    next(outcomes)
    for process in multiprocessing.active_children():
        process.kill()
    with pytest.raises(BrokenProcessPool):
        list(outcomes)
