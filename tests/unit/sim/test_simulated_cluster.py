"""Whole clusters in memory: their parts work together, fail apart, and come back."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node
from podling.client.base import Unreachable
from podling.sim import loop
from podling.sim.conditions import is_conditioned
from podling.sim.simulated_cluster import simulated_cluster
from podling.sim.simulated_node import NodeSettings
from tests.support.simulated import deployment, is_ready, phases, pods


async def test_deployment_runs_on_all_nodes() -> None:
    async with simulated_cluster(nodes=3) as cluster:
        await cluster.client.create(deployment(replicas=6))
        await cluster.advance(seconds=10)
        assert await phases(cluster) == ["Running"] * 6
        assert {pod.spec.node_name for pod in await pods(cluster)} == {"node-1", "node-2", "node-3"}


async def test_second_node_of_a_name_is_refused() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        with pytest.raises(ValueError, match="there is a node node-1 already"):
            await cluster.add_node(NodeSettings(name="node-1"))


async def test_cluster_goes_on_after_its_api_server_was_away() -> None:
    async with simulated_cluster(nodes=2) as cluster:
        await cluster.advance(seconds=10)
        await cluster.stop_server()
        with pytest.raises(Unreachable):
            await cluster.client.get(Node, "node-1")
        await cluster.advance(minutes=3)
        await cluster.start_server()
        await cluster.client.create(deployment())
        await cluster.advance(minutes=2)
        assert await phases(cluster) == ["Running"] * 3
        assert await is_ready(cluster, "node-2") == "True"


async def test_control_plane_goes_on_where_it_stopped() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.stop_control_plane()
        await cluster.client.create(deployment())
        await cluster.advance(minutes=1)
        assert await phases(cluster) == []
        await cluster.start_control_plane()
        await cluster.advance(seconds=10)
        assert await phases(cluster) == ["Running"] * 3


async def test_removed_machine_leaves_its_node_object() -> None:
    async with simulated_cluster(nodes=2) as cluster:
        await cluster.remove_node("node-1")
        await cluster.advance(minutes=2)
        nodes = (await cluster.client.list(Node)).items
        assert [(node.metadata.name, is_conditioned(node, "Ready")) for node in nodes] == [
            ("node-1", False),
            ("node-2", True),
        ]


def test_same_seed_gives_the_same_names_and_another_seed_others() -> None:
    async def names() -> list[str]:
        async with simulated_cluster(nodes=2) as cluster:
            await cluster.client.create(deployment())
            await cluster.advance(seconds=10)
            return [f"{pod.metadata.name} {pod.metadata.uid}" for pod in await pods(cluster)]

    first, again, other = (loop.run(names(), seed=seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other
