"""Sets of completion indexes: as sets of numbers, at the price of their ranges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.api.batch_v1 import SuccessPolicyRule
from podling.controllers.workloads.job_indexes import Indexes, rule_met

COMPLETIONS = 60
numbers = st.sets(st.integers(0, COMPLETIONS - 1))


@given(numbers, numbers)
def test_indexes_behave_as_sets_of_numbers(one: set[int], other: set[int]) -> None:
    left, right = Indexes.of(one), Indexes.of(other)
    assert left | right == Indexes.of(one | other)
    assert left & right == Indexes.of(one & other)
    assert (len(left), left == right) == (len(one), one == other)
    assert [index for index in range(COMPLETIONS) if index in left] == sorted(one)
    assert Indexes.parse(str(left), COMPLETIONS) == left


@given(numbers, st.integers(0, 70), st.integers(0, COMPLETIONS))
def test_free_indexes_are_the_lowest_that_are_not_in_the_set(
    taken: set[int], count: int, completions: int
) -> None:
    expected = [index for index in range(completions) if index not in taken][:count]
    assert Indexes.of(taken).free(count, completions) == expected


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90))))
def test_parts_in_any_order_are_joined(parts: list[tuple[int, int]]) -> None:
    text = ",".join(f"{first}-{last}" for first, last in parts)
    expected = {index for first, last in parts for index in range(first, min(last, COMPLETIONS - 1) + 1)}
    assert Indexes.parse(text, COMPLETIONS) == Indexes.of(expected)


def test_huge_ranges_cost_no_more_than_small_ones() -> None:
    completions = 2**31 - 1
    everything = Indexes.parse(f"0-{completions - 1}", completions)
    assert (len(everything), len(everything.ranges)) == (completions, 1)
    assert everything.free(5, completions) == []
    assert Indexes.parse("3-2147483640", completions).free(5, completions) == [
        0,
        1,
        2,
        2147483641,
        2147483642,
    ]
    rule = SuccessPolicyRule(succeeded_indexes=f"0-{completions - 1}")
    assert rule_met([rule], Indexes.of([1]), completions) is None
    assert rule_met([rule], everything, completions) == 0


def test_unreadable_parts_are_left_out() -> None:
    assert Indexes.parse(f"²,+1,1-,-2,{'9' * 5000},7", 100) == Indexes.of([7])
