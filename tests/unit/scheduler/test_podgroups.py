"""Counts of a group of pods per row of the cache."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.scheduler.podgroups import PodGroup, counts_per_row
from tests.unit.scheduler.scheduling import facts


@given(counts=st.dictionaries(st.integers(0, 99), st.integers(1, 5), max_size=60))
def test_pods_of_a_kind_are_counted_per_row_few_or_many(counts: dict[int, int]) -> None:
    one = PodGroup(facts(labels={"app": "web"}))
    one.rows.update(counts)
    other = PodGroup(facts(labels={"app": "db"}))
    other.rows[3] = 7
    total = counts_per_row([one, other], 100)
    assert total.tolist() == [counts.get(row, 0) + 7 * (row == 3) for row in range(100)]
