"""The parts of a cluster, by its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from podling.cluster.processes.parts import API, API_WORKER, CONTROL, NODE, STOP_ORDER, Part, parts_of


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ([], ["api", "control"]),
        (["one"], ["api", "node-one", "control"]),
        (["one", "one-2"], ["api", "nodes", "control"]),
    ],
)
def test_every_node_belongs_to_a_part(nodes: Sequence[str], names: Sequence[str]) -> None:
    parts = parts_of(nodes)
    assert [part.name for part in parts] == names
    assert [name for part in parts for name in part.nodes] == nodes


def test_api_server_alone_is_one_part() -> None:
    assert parts_of(["one"], api_only=True) == (Part(API, "api"),)


def test_api_server_stops_last() -> None:
    assert STOP_ORDER == (NODE, CONTROL, API_WORKER, API)
    assert {part.kind for part in parts_of(["one"], api_workers=2)} == set(STOP_ORDER)
