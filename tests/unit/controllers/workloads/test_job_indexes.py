"""Sets of completion indexes: as sets of numbers, at the price of their ranges."""

from __future__ import annotations

import pytest
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


# rules as (succeededIndexes, succeededCount), the indexes that succeeded, and the rule that is met
SUCCESS: list[tuple[list[tuple[str | None, int | None]], str, int | None]] = [
    ([], "0", None),
    ([("invalid-form", None)], "0", None),
    ([("0-2", None)], "0-2,4-7", 0),
    ([("3", None)], "0-2", None),
    ([(None, 2)], "0-2", 0),
    ([(None, 4)], "0-2", None),
    ([("9", None), ("4,6", None)], "0-2,4-7", 1),
    ([("0,1", None), ("5", None)], "0-2,4-7", 0),
    ([("3-6", 2)], "0-2,4-7", 0),
    ([("3-6", 2)], "0-2,6,7", None),
    ([(None, 4)], "", None),
    ([("2-4,6-8", None)], "1-5,6-9", 0),
    ([("2-4,6-9", None)], "2-4,6-9", 0),
    ([("2-4,8-12", None)], "2-5,7-15", 0),
    ([("", None)], "1-3", None),
    ([("", None)], "", None),
    ([("10-12,14-16", None)], "1-3,5-7", None),
    ([("10-12", None)], "", None),
    ([("1-3,5-7", None)], "2-4,6-8", None),
    ([("1-3,5-7", 4)], "2-4,6-8", 0),
    ([("2-4,6-9", None)], "1-3,5-7", None),
    ([("2-4,6-9", 4)], "1-3,5-7", 0),
    ([("0-4,6-9", None)], "1-3,7,8", None),
    ([("0-4,6-9", 5)], "1-3,7,8", 0),
    ([("0-6,8-9", None)], "1-3,5-9", None),
    ([("0-6,8-9", 7)], "1-3,5-9", 0),
    ([("0-5,7-9", None)], "1-5,7-10", None),
    ([("0-5,7-9", 8)], "1-5,7-10", 0),
    ([("0-3,6-9", None)], "1-10", None),
    ([("0-3,6-9", 7)], "1-10", 0),
]


@pytest.mark.parametrize(("rules", "succeeded", "met"), SUCCESS)
def test_success_policy_is_met_by_its_first_rule(
    rules: list[tuple[str | None, int | None]], succeeded: str, met: int | None
) -> None:
    made = [SuccessPolicyRule(succeeded_indexes=text, succeeded_count=count) for text, count in rules]
    assert rule_met(made, Indexes.parse(succeeded, 10), 10) == met
