"""Subnets of the nodes of one machine: kept while their bridges are gone."""

from __future__ import annotations

from ipaddress import IPv4Network
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


def test_reservation_of_vanished_node_is_ignored(tmp_path: Path) -> None:
    directory = tmp_path / "subnets"
    reserve("gone", FIRST, tmp_path / "state", directory)
    (directory / "damaged").write_bytes(b"10.88.0")
    assert reserved_by_others("first", directory) == []
