"""Subnets of the nodes of one machine: kept while their bridges are gone."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from podling.network.subnets import release, reserve, reserved_by_others

FIRST, SECOND = IPv4Network("10.88.0.0/24"), IPv4Network("10.88.1.0/24")


def test_subnets_of_other_nodes_are_reserved(tmp_path: Path) -> None:
    directory, state = tmp_path / "subnets", tmp_path / "state"
    assert reserved_by_others("first", directory) == []
    state.mkdir()
    reserve("first", FIRST, state, directory)
    reserve("second", SECOND, state, directory)
    reserve("second", SECOND, state, directory)
    assert reserved_by_others("first", directory) == [SECOND]
    assert reserved_by_others("third", directory) == [FIRST, SECOND]
    release("second", directory)
    release("second", directory)
    assert reserved_by_others("third", directory) == [FIRST]


def test_node_reserves_a_subnet_of_each_family(tmp_path: Path) -> None:
    directory, ipv6 = tmp_path / "subnets", IPv6Network("fd00:88::/64")
    for subnet in (FIRST, ipv6):
        reserve("one", subnet, tmp_path, directory)
    assert reserved_by_others("one", directory) == []
    assert reserved_by_others("two", directory) == [FIRST, ipv6]
    release("one", directory)
    assert reserved_by_others("two", directory) == []


def test_reservation_of_vanished_node_is_ignored(tmp_path: Path) -> None:
    directory = tmp_path / "subnets"
    reserve("gone", FIRST, tmp_path / "state", directory)
    (directory / "damaged").write_bytes(b"10.88.0")
    assert reserved_by_others("first", directory) == []
