"""Ranges of seeds, and their runs in several processes."""

from __future__ import annotations

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
