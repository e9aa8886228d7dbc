"""Ordinals without reserved ones. Cases: ``TestGetStatefulSetReplicasRange`` and validation."""

from __future__ import annotations

from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling_kruise.statefulset.ordinals import Ordinals, parse_range


@pytest.mark.parametrize(
    ("start", "number", "reserved", "found"),
    [
        (0, 4, [1, 3], [0, 2, 4, 5]),
        (2, 4, [1, 3], [2, 4, 5, 6]),
        (3, 4, [1, 3], [4, 5, 6, 7]),
        (4, 4, [1, 3], [4, 5, 6, 7]),
        (0, 3, ["1-2", 4], [0, 3, 5]),
        (0, 3, ["0-2", "2-4"], [5, 6, 7]),
        (0, 2, ["0-2000000000"], [2000000001, 2000000002]),
        (0, 2, ["wrong", 0], [0, 1]),
        (0, 0, [0], []),
    ],
)
def test_reserved_ordinals_are_left_out(
    start: int, number: int, reserved: list[int | str], found: list[int]
) -> None:
    assert list(Ordinals(start, number, reserved)) == found


RESERVED = st.lists(st.integers(0, 20) | st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=6)


@given(st.integers(0, 10), st.integers(0, 12), RESERVED)
def test_ordinals_are_the_first_that_are_not_reserved(
    start: int, number: int, reserved: list[int | tuple[int, int]]
) -> None:
    given = [each if isinstance(each, int) else f"{each[0]}-{sum(each)}" for each in reserved]
    taken = {value for each in given for value in ([each] if isinstance(each, int) else parse_range(each))}
    expected = list(islice((each for each in count(start) if each not in taken), number))
    found = Ordinals(start, number, given)
    assert list(found) == expected
    assert len(found) == number
    assert [each for each in range(80) if each in found] == expected
    assert [found.position(each) for each in expected] == list(range(number))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("3", "invalid range 3"),
        ("5-3", "invalid range 5-3"),
        ("a-3", 'strconv.Atoi: parsing "a": invalid syntax'),
        ("1-99999999999999999999", "value out of range"),
    ],
)
def test_wrong_ranges_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_range(text)
