"""Blocks of IDs for pods with users of their own: disjoint, above the node's, and readable again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.containers.user_ids import (
    Pool,
    default_pool,
    given_pool,
    mapping_text,
    next_block,
    read_mapping,
    subordinate_ids,
)
from podling.runtime.base import IdRange

COUNT = 65536
POOL = default_pool(COUNT)


def test_blocks_follow_one_another_and_released_ones_come_last() -> None:
    used: list[IdRange] = []
    for number in (1, 2, 3):
        found = next_block(used, used[-1].first if used else 0, COUNT, POOL)
        assert found == IdRange(first=number * COUNT)
        used.append(found)
    del used[1]
    assert next_block(used, 3 * COUNT, COUNT, POOL) == IdRange(first=4 * COUNT)


def test_last_block_is_not_assigned_and_the_search_begins_anew() -> None:
    """Its last ID is 4,294,967,295, which the kernel takes for none."""
    last = 65534 * COUNT
    assert next_block((), last - COUNT, COUNT, POOL) == IdRange(first=last)
    assert next_block((), last, COUNT, POOL) == IdRange(first=COUNT)


def test_no_block_is_left_when_all_are_taken() -> None:
    everything = IdRange(first=COUNT, count=(1 << 32) - 2 * COUNT)
    assert next_block((everything,), 0, COUNT, POOL) is None


@given(
    count=st.sampled_from([COUNT, 2 * COUNT, 16 * COUNT]),
    others=st.lists(st.builds(IdRange, first=st.integers(0, 1 << 31), count=st.integers(1, 1 << 20))),
    pods=st.integers(1, 40),
    ends=st.lists(st.integers(0, 39)),
)
def test_no_two_pods_overlap(count: int, others: list[IdRange], pods: int, ends: list[int]) -> None:
    used, last = list(others), 0
    for number in range(pods):
        found = next_block(used, last, count, default_pool(count))
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
    assert read_mapping(mapping_text(users), COUNT, POOL) == users
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
        read_mapping(damaged, COUNT, POOL)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("0: kubelet 65536 2147483648\n", (65536, 2147483648)),
        ("0: kubelet 0 2147483648", (0, 2147483648)),
        ("0: kubelet 65536 65536\n\n", (65536, 65536)),
    ],
)
def test_output_of_getsubids_is_one_range(output: str, expected: tuple[int, int]) -> None:
    assert subordinate_ids(output) == expected


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "invalid line"),
        ("\n", "invalid line"),
        ("0: kubelet 65536\n", "invalid line"),
        ("0: kubelet 65536 1 2\n", "invalid line"),
        ("0: kubelet 1 2\n1: kubelet 3 4\n", "it must contain only one line"),
        ("0: kubelet x 65536\n", 'parsing "x": invalid syntax'),
        ("0: kubelet 65536 -1\n", 'parsing "-1": invalid syntax'),
        ("0: kubelet 65536 4294967296\n", 'parsing "4294967296": value out of range'),
    ],
)
def test_other_output_of_getsubids_is_refused(output: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        subordinate_ids(output)


@pytest.mark.parametrize(
    ("first", "length", "pods", "message"),
    [
        (COUNT + 1, 110 * COUNT, 110, "assigned ID 65537 is not a multiple of 65536"),
        (0, 110 * COUNT, 110, "assigned ID 0 must be greater or equal to 65536"),
        (COUNT, 110 * COUNT + 1, 110, "assigned IDs length 7208961 is not a multiple of 65536"),
        (COUNT, 109 * COUNT, 110, "assigned IDs are not enough to support 110 pods"),
    ],
)
def test_range_that_cannot_be_divided_among_pods_is_refused(
    first: int, length: int, pods: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        given_pool(first, length, COUNT, pods)


def test_blocks_of_a_given_range_are_the_only_ones() -> None:
    pool = given_pool(7 * COUNT, 3 * COUNT, COUNT, 3)
    assert pool == Pool(7, 10)
    used: list[IdRange] = []
    for number in (7, 8, 9):
        found = next_block(used, used[-1].first if used else 0, COUNT, pool)
        assert found == IdRange(first=number * COUNT)
        used.append(found)
    assert next_block(used, 9 * COUNT, COUNT, pool) is None
    assert next_block(used[1:], 9 * COUNT, COUNT, pool) == used[0]
    assert given_pool(COUNT, (1 << 32) - COUNT, COUNT, 110) == POOL, "the last block is left out"
    with pytest.raises(ValueError, match="id 655360 is out of range"):
        read_mapping(mapping_text(IdRange(first=10 * COUNT)), COUNT, pool)
