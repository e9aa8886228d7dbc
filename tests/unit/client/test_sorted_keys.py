"""Keys that are read in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.client.base import Key
from podling.client.sorted_keys import INSERTED_AMONG, SortedKeys

STEPS = st.lists(st.tuples(st.sampled_from(("add", "remove", "read")), st.integers(0, 40)), max_size=120)


def key(number: int) -> Key:
    return Key("default", f"pod-{number}")


@given(STEPS)
def test_keys_are_those_added_and_not_removed_in_order(steps: list[tuple[str, int]]) -> None:
    keys, model = SortedKeys(), set[Key]()
    for what, number in steps:
        one = key(number)
        if what == "read":
            assert keys.ordered() == sorted(model)
        elif what == "add" and one not in model:
            keys.add(one)
            model.add(one)
        elif what == "remove" and one in model:
            keys.remove(one)
            model.remove(one)
        assert len(keys) == len(model)
    assert keys.ordered() == sorted(model)


def test_one_new_key_among_many_finds_its_place() -> None:
    keys = SortedKeys()
    many = [key(number) for number in range(INSERTED_AMONG * 4)]
    for each in many:
        keys.add(each)
    assert keys.ordered() == sorted(many)
    keys.add(key(1000))
    assert keys.ordered() == sorted([*many, key(1000)])
