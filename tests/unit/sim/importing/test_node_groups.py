"""Groups of equal nodes."""

from __future__ import annotations

import pytest

from podling.sim.importing.node_groups import NodeFacts, groups

SMALL = NodeFacts("2", "4Gi", "50Gi", 110, "")
BIG = NodeFacts("8", "4Gi", "50Gi", 110, "")


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ([("pool-1", SMALL), ("pool-2", SMALL)], [("pool", 2)]),
        ([("pool-1", SMALL), ("pool-2", BIG)], [("pool", 1), ("pool-a", 1)]),
        ([("alpha", SMALL), ("beta", SMALL)], [("node", 2)]),
        ([("ip-10-0-0-1.ec2", SMALL), ("ip-10-0-0-2.ec2", SMALL)], [("ip-10-0-0", 2)]),
        ([], []),
    ],
)
def test_equal_nodes_are_a_group_named_after_them(
    nodes: list[tuple[str, NodeFacts]], names: list[tuple[str, int]]
) -> None:
    found = groups(nodes)
    assert len({group["name"] for group in found}) == len(found)
    assert [group["count"] for group in found] == [count for _, count in names]
    assert all(group["name"].startswith(name[:4]) for group, (name, _) in zip(found, names, strict=True))
