"""Each option of the node lifecycle controller, by what it changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from podling import clock
from podling.api.core_v1 import Node
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.controllers.options import ControllerOptions
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, running

UNREACHABLE = "node.kubernetes.io/unreachable"


async def numbers_tainted(
    cluster: ControlPlane, options: ControllerOptions, silent: int, healthy: int, looks: Sequence[int]
) -> list[int]:
    """Return how many silent nodes have lost their pods, at seconds after their last heartbeat."""
    quiet = [f"s{number}" for number in range(silent)]
    alive = [f"h{number}" for number in range(healthy)]
    counts = []
    async with running(cluster.client, lambda context: NodeLifecycleController(context, options)):
        for name in (*quiet, *alive):
            await add_node(cluster.client, name)
        for second in range(10, looks[-1] + 10, 10):
            for name in alive:
                await heartbeat(cluster.client, name)
            await cluster.advance(seconds=10)
            if second in looks:
                nodes = (await cluster.client.list(Node)).items
                taints = [each for node in nodes for each in node.spec.taints]
                counts.append(sum((each.key, each.effect) == (UNREACHABLE, "NoExecute") for each in taints))
    return counts


@pytest.mark.parametrize(
    ("options", "silent", "healthy", "expected"),
    [
        (ControllerOptions(), 4, 5, [1, 4, 4]),
        (ControllerOptions(node_eviction_rate=0.02), 4, 5, [1, 1, 2]),
        (ControllerOptions(node_eviction_rate=0), 4, 5, [0, 0, 0]),
        # Most nodes are silent: a small zone stops, a large one goes on slowly.
        (ControllerOptions(), 4, 2, [0, 0, 0]),
        (ControllerOptions(large_cluster_size_threshold=5), 4, 2, [1, 1, 1]),
        (ControllerOptions(large_cluster_size_threshold=6), 4, 2, [0, 0, 0]),
        (
            ControllerOptions(large_cluster_size_threshold=5, secondary_node_eviction_rate=0.02),
            4,
            2,
            [1, 1, 2],
        ),
        (ControllerOptions(large_cluster_size_threshold=5, secondary_node_eviction_rate=0), 4, 2, [0, 0, 0]),
        # Two nodes of three must be silent for the highest threshold, three of ten for the lowest one.
        (ControllerOptions(unhealthy_zone_threshold=0.7), 4, 2, [1, 4, 4]),
        (ControllerOptions(unhealthy_zone_threshold=0.3), 4, 5, [0, 0, 0]),
    ],
    ids=[
        "default",
        "slow",
        "never",
        "unhealthy, small",
        "unhealthy, large",
        "unhealthy, just small",
        "unhealthy, large, faster",
        "unhealthy, large, never",
        "healthy by a higher threshold",
        "unhealthy by a lower threshold",
    ],
)
async def test_silent_nodes_are_evicted_at_the_rate_of_their_zone(
    cluster: ControlPlane, options: ControllerOptions, silent: int, healthy: int, expected: list[int]
) -> None:
    assert await numbers_tainted(cluster, options, silent, healthy, (70, 100, 130)) == expected


@pytest.mark.parametrize("period", [1.0, 5.0, 20.0])
async def test_nodes_are_examined_once_a_period(cluster: ControlPlane, period: float) -> None:
    """A node falls silent at the first examination after a grace period since the one that saw it last."""
    grace = 47
    options = ControllerOptions(node_monitor_period=period, node_monitor_grace_period=grace)
    async with running(cluster.client, lambda context: NodeLifecycleController(context, options)):
        began = clock.monotonic()
        await add_node(cluster.client, "quiet")
        while await ready(cluster, "quiet") == "True" and clock.monotonic() - began < 200:
            await cluster.advance(seconds=1)
        examinations = math.floor(grace / period) + 1
        assert (clock.monotonic() - began) // period in (examinations, examinations + 1)


async def ready(cluster: ControlPlane, name: str) -> str:
    found = find((await cluster.client.get(Node, name)).status.conditions, "Ready")
    assert found is not None
    return found.status
