"""Simulated nodes: registration, restarts of kubelets, losses of power."""

from __future__ import annotations

from podling.api.core_v1 import Node
from podling.runtime.base import ContainerState
from podling.sim.simulated_cluster import simulated_cluster
from podling.sim.simulated_node import NodeSettings
from tests.support.simulated import deployment, is_ready, phases, pods


async def test_node_registers_with_its_settings_alone() -> None:
    settings = NodeSettings(name="big", cpu="96", memory="1Ti", zone="a", labels={"disk": "ssd"}, pods=250)
    async with simulated_cluster([settings]) as cluster:
        await cluster.advance(seconds=5)
        node = await cluster.client.get(Node, "big")
        assert node.status.capacity["cpu"] == "96"
        assert node.status.capacity["pods"] == "250"
        assert node.metadata.labels["topology.kubernetes.io/zone"] == "a"
        assert node.metadata.labels["disk"] == "ssd"
        assert node.status.node_info.kernel_version == "6.0.0"
        assert node.status.node_info.os_image == "Podling simulation"
        assert node.spec.pod_cidr == "100.64.0.0/24"


async def test_kubelet_takes_over_containers_after_restart() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await cluster.client.create(deployment())
        await cluster.advance(seconds=10)
        node = cluster.nodes["node-1"]
        before = [each.id for each in await node.runtime.list_containers()]
        await node.restart()
        await cluster.advance(minutes=1)
        assert [each.id for each in await node.runtime.list_containers()] == before
        assert await phases(cluster) == ["Running"] * 3


async def test_pods_of_crashed_node_are_replaced() -> None:
    async with simulated_cluster(nodes=2) as cluster:
        await cluster.client.create(deployment())
        await cluster.advance(seconds=10)
        lost = cluster.nodes["node-1"]
        await lost.crash()
        states = [each.state for each in await lost.runtime.list_containers()]
        assert ContainerState.RUNNING not in states
        await cluster.advance(minutes=8)
        assert await is_ready(cluster, "node-1") == "Unknown"
        living = [pod for pod in await pods(cluster) if pod.metadata.deletion_timestamp is None]
        assert [pod.spec.node_name for pod in living] == ["node-2"] * 3
        await lost.start()
        await cluster.advance(minutes=2)
        assert await is_ready(cluster, "node-1") == "True"
        assert len(await pods(cluster)) == 3
