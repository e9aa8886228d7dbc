"""A profile's share of the nodes of a large cluster."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.unit.scheduler.scheduling import DEFAULT_PROFILE


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"),
    [
        (0, 10, 10),
        (40, 10, 10),
        (0, 1000, 420),
        (40, 1000, 400),
        (0, 6000, 300),
        (40, 6000, 2400),
        (0, 99, 99),
        (0, 100, 100),
        (5, 1000, 100),
        (100, 1000, 1000),
    ],
)
def test_share_of_nodes_to_find_depends_on_their_number(percentage: int, nodes: int, wanted: int) -> None:
    profile = structs.replace(DEFAULT_PROFILE, percentage=percentage)
    assert profile.nodes_to_find(nodes) == wanted


def test_one_node_is_enough_where_nothing_scores() -> None:
    assert structs.replace(DEFAULT_PROFILE, score=()).nodes_to_find(1000) == 1
