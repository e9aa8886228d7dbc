"""Connections of parts: slow, failing and cut."""

from __future__ import annotations

import pytest

from podling import clock
from podling.api.core_v1 import Container, Pod, PodSpec, ResourceRequirements
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Unreachable
from podling.machinery.errors import service_unavailable
from podling.sim.connection import RequestFault
from podling.sim.simulated_cluster import simulated_cluster
from podling.sim.simulated_node import NodeSettings
from tests.support.simulated import deployment, is_ready, phases


async def test_cut_connection_makes_node_unknown_and_mending_brings_it_back() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        connection = cluster.connections["node/node-1"]
        await connection.cut()
        await cluster.advance(minutes=2)
        assert await is_ready(cluster, "node-1") == "Unknown"
        connection.mend()
        await cluster.advance(minutes=1)
        assert await is_ready(cluster, "node-1") == "True"


@pytest.mark.parametrize("carried_out", [False, True])
async def test_scheduler_binds_in_spite_of_failing_requests(carried_out: bool) -> None:
    async with simulated_cluster(nodes=1) as cluster:
        fault = RequestFault(
            verb="create",
            resource="pods/binding",
            error=lambda: service_unavailable("overloaded"),
            carried_out=carried_out,
            times=2,
        )
        cluster.connections["scheduler"].faults.append(fault)
        await cluster.client.create(deployment())
        await cluster.advance(minutes=6)
        assert fault.met == 2
        assert await phases(cluster) == ["Running"] * 3


async def test_slow_requests_delay_a_pod() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        cluster.connections["node/node-1"].faults.append(RequestFault(resource="pods/status", seconds=7))
        await cluster.client.create(deployment(replicas=1))
        await cluster.advance(seconds=5)
        assert await phases(cluster) == ["Pending"]
        await cluster.advance(seconds=20)
        assert await phases(cluster) == ["Running"]


async def test_scheduler_keeps_capacity_of_pod_with_lost_answer() -> None:
    """Only one pod fits. The informer is late, and a read is needed to know that the first one was bound."""
    async with simulated_cluster([NodeSettings(name="n", cpu="1")]) as cluster:
        scheduler = cluster.connections["scheduler"]
        lost = RequestFault(
            verb="create", resource="pods/binding", error=unreachable, carried_out=True, times=1
        )
        late = RequestFault(verb="watch", resource="pods", seconds=5)
        refused = RequestFault(verb="get", resource="pods", error=unreachable, times=2)
        scheduler.faults.extend((lost, late, refused))
        for name in "ab":
            await cluster.client.create(pod_with_request(name, "600m"))
        await cluster.advance(minutes=2)
        assert (lost.met, refused.met) == (1, 2)
        found = await cluster.client.list(Pod, "default")
        assert sorted(each.status.phase for each in found.items) == ["Pending", "Running"]
        assert sum(bool(each.spec.node_name) for each in found.items) == 1


async def test_events_of_a_slow_watch_are_late_and_in_order() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        client = cluster.connect("observer")
        cluster.connections["observer"].faults.append(RequestFault(verb="watch", seconds=3))
        listing = await client.list(Pod, "default")
        stream = client.watch(Pod, "default", resource_version=listing.resource_version)
        begun = clock.monotonic()
        for name in "ab":
            await cluster.client.create(pod_with_request(name, "1m"))
        names = [(await anext(stream)).object.metadata.name for _ in range(2)]
        assert names == ["a", "b"]
        assert clock.monotonic() - begun >= 6  # virtual seconds
        await cluster.connections["observer"].cut()
        with pytest.raises(Unreachable):
            await anext(stream)


def unreachable() -> Exception:
    return Unreachable("connection reset by peer")


def pod_with_request(name: str, cpu: str) -> Pod:
    container = Container(name="app", image="app:1", resources=ResourceRequirements(requests={"cpu": cpu}))
    return Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=PodSpec(containers=(container,)))
