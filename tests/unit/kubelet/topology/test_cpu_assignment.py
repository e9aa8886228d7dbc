"""The choice of CPUs: cases of upstream's ``cpu_assignment_test.go``, and laws over random machines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.topology.cpu_assignment import NotEnoughCpus, take_distributed, take_packed
from podling.kubelet.topology.cpu_sets import format_cpus, parse_cpus
from podling.kubelet.topology.machine_topology import MachineTopology
from tests.unit.kubelet.topology.machines import DUAL_SOCKET_HT, FOUR_NUMA, SINGLE_SOCKET_HT


@pytest.mark.parametrize(
    ("machine", "free", "count", "expected"),
    [
        (SINGLE_SOCKET_HT, "0-7", 0, ""),
        (SINGLE_SOCKET_HT, "0-7", 1, "0"),
        (SINGLE_SOCKET_HT, "1,3,5-7", 1, "6"),
        (SINGLE_SOCKET_HT, "0-7", 2, "0,4"),
        (SINGLE_SOCKET_HT, "0-7", 8, "0-7"),
        (SINGLE_SOCKET_HT, "0-3,6", 2, "2,6"),
        (DUAL_SOCKET_HT, "1-5,7-11", 1, "2"),
        (DUAL_SOCKET_HT, "0-11", 6, "0,2,4,6,8,10"),
        (DUAL_SOCKET_HT, "1-11", 6, "1,3,5,7,9,11"),
        (FOUR_NUMA, "0-31", 8, "0-3,16-19"),
        (FOUR_NUMA, "0-31", 16, "0-7,16-23"),
        (FOUR_NUMA, "0-2,4-31", 8, "4-7,20-23"),
    ],
)
def test_packed_cpus_fill_sockets_and_cores(
    machine: MachineTopology, free: str, count: int, expected: str
) -> None:
    assert format_cpus(take_packed(machine, parse_cpus(free), count)) == expected


@pytest.mark.parametrize(
    ("free", "count", "group", "expected"),
    [
        ("0-31", 1, 1, "0"),
        ("0-31", 8, 1, "0-3,16-19"),
        ("0-31", 9, 1, "0-2,4-5,16-17,20-21"),
        ("0-31", 12, 2, "0-2,4-6,16-18,20-22"),
        ("0-31", 16, 2, "0-7,16-23"),
        ("0-31", 24, 2, "0-11,16-27"),
        ("0-31", 3, 2, "0-1,16"),
        ("4-15,20-31", 12, 2, "4-6,8-10,20-22,24-26"),
    ],
)
def test_distributed_cpus_are_equal_parts_of_numa_nodes(
    free: str, count: int, group: int, expected: str
) -> None:
    found = take_distributed(FOUR_NUMA, parse_cpus(free), count, group)
    assert len(found) == count
    assert format_cpus(found) == expected


def test_more_cpus_than_available_are_refused() -> None:
    text = "not enough cpus available to satisfy request: requested=5, available=4"
    with pytest.raises(NotEnoughCpus, match=text):
        take_packed(SINGLE_SOCKET_HT, parse_cpus("0,2,4,6"), 5)
    with pytest.raises(NotEnoughCpus, match=text):
        take_distributed(SINGLE_SOCKET_HT, parse_cpus("0,2,4,6"), 5, 1)


@given(st.frozensets(st.sampled_from(range(32)), min_size=1), st.data())
def test_taken_cpus_are_free_and_as_many_as_requested(free: frozenset[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(free)))
    for found in (
        take_packed(FOUR_NUMA, free, count),
        take_distributed(FOUR_NUMA, free, count, 1),
        take_distributed(FOUR_NUMA, free, count, 2),
    ):
        assert found <= free
        assert len(found) == count
