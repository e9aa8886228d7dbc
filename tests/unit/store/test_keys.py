"""Keys in order: every range is what sorting the whole set would give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.store import keys as keys_module
from podling.store.keys import SortedKeys, just_after, prefix_end

TEXT = st.text(alphabet="ab/\U0010ffff", max_size=4)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("/pods/", "/pods0"),
        ("a", "b"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff", None),
        ("", None),
    ],
)
def test_prefix_end_is_next_key(prefix: str, end: str | None) -> None:
    assert prefix_end(prefix) == end


@given(prefix=TEXT, key=TEXT)
def test_exactly_the_keys_with_the_prefix_lie_before_its_end(prefix: str, key: str) -> None:
    end = prefix_end(prefix)
    assert key.startswith(prefix) == (key >= prefix and (end is None or key < end))


@given(a=TEXT, b=TEXT)
def test_nothing_lies_between_a_key_and_just_after_it(a: str, b: str) -> None:
    assert (b > a) == (b >= just_after(a))


@given(
    steps=st.lists(st.tuples(st.booleans(), TEXT), max_size=60),
    low=TEXT,
    high=st.none() | TEXT,
    block_length=st.integers(1, 4),
)
def test_like_a_sorted_set(
    steps: list[tuple[bool, str]], low: str, high: str | None, block_length: int
) -> None:
    whole, sorted_keys = set[str](), SortedKeys()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys_module, "BLOCK_LENGTH", block_length)
        for add, key in steps:
            if add and key not in whole:
                whole.add(key)
                sorted_keys.add(key)
            elif not add and key in whole:
                whole.remove(key)
                sorted_keys.remove(key)
    expected = sorted(key for key in whole if key >= low and (high is None or key < high))
    assert list(sorted_keys.between(low, high)) == expected
    assert sorted_keys.count(low, high) == len(expected)


@pytest.mark.parametrize("there", [[], ["b"], ["a", "c"]])
def test_removing_what_is_not_there(there: list[str]) -> None:
    keys = SortedKeys()
    for key in there:
        keys.add(key)
    with pytest.raises(KeyError):
        keys.remove("bb")
    assert list(keys.between("", None)) == there
