"""Blocks of IDs for pods with users of their own: disjoint, above the node's, and readable again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.containers.user_ids import mapping_text, next_block, read_mapping
from podling.runtime.base import IdRange

COUNT = 65536


def test_blocks_follow_one_another_and_released_ones_come_last() -> None:
    used: list[IdRange] = []
    for number in (1, 2, 3):
        found = next_block(used, used[-1].first if used else 0, COUNT)
        assert found == IdRange(first=number * COUNT)
        used.append(found)
    del used[1]
    assert next_block(used, 3 * COUNT, COUNT) == IdRange(first=4 * COUNT)


def test_last_block_is_not_assigned_and_the_search_begins_anew() -> None:
    """Its last ID is 4,294,967,295, which the kernel takes for none."""
    last = 65534 * COUNT
    assert next_block((), last - COUNT, COUNT) == IdRange(first=last)
    assert next_block((), last, COUNT) == IdRange(first=COUNT)


def test_no_block_is_left_when_all_are_taken() -> None:
    everything = IdRange(first=COUNT, count=(1 << 32) - 2 * COUNT)
    assert next_block((everything,), 0, COUNT) is None


@given(
    count=st.sampled_from([COUNT, 2 * COUNT, 16 * COUNT]),
    others=st.lists(st.builds(IdRange, first=st.integers(0, 1 << 31), count=st.integers(1, 1 << 20))),
    pods=st.integers(1, 40),
    ends=st.lists(st.integers(0, 39)),
)
def test_no_two_pods_overlap(count: int, others: list[IdRange], pods: int, ends: list[int]) -> None:
    used, last = list(others), 0
    for number in range(pods):
        found = next_block(used, last, count)
        assert found is not None
        last = found.first
        assert found.first >= COUNT
        assert found.first + found.count < 1 << 32
        for each in used:
            assert found.first + found.count <= each.first or each.first + each.count <= found.first
        used.append(found)
        if number in ends:
            used.pop()


def test_file_is_read_as_it_was_written() -> None:
    users = IdRange(first=7 * COUNT)
    assert read_mapping(mapping_text(users), COUNT) == users
    assert b'"uidMappings":[{"hostId":458752,"containerId":0,"length":65536}]' in mapping_text(users)


def content(host: int = COUNT, inner: int = 0, length: int = COUNT, groups: str = "") -> bytes:
    one = f'[{{"hostId": {host}, "containerId": {inner}, "length": {length}}}]'
    return f'{{"uidMappings": {one}, "gidMappings": {groups or one}}}'.encode()


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (b"", "invalid user namespace mappings file"),
        (b"\0" * 100, "invalid user namespace mappings file"),
        (b'{"uidMappings": []}', "invalid user namespace mappings file"),
        (b'{"uidMappings": [], "gidMappings": []}', "should be identical"),
        (content(groups="[]"), "should be identical"),
        (content(inner=1), "UID 0 must be mapped"),
        (content(length=1000), "wrong user namespace length 1000"),
        (content(host=COUNT + 1), "wrong user namespace offset specified 65537"),
        (content(host=0), "id 0 is out of range"),
        (content(host=-COUNT), "id -65536 is out of range"),
        (content(host=65535 * COUNT), "id 4294901760 is out of range"),
    ],
)
def test_damaged_file_is_refused(damaged: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_mapping(damaged, COUNT)
