"""Connections of parts: slow, failing and cut."""

from __future__ import annotations

import pytest

from podling.machinery.errors import service_unavailable
from podling.sim.connection import RequestFault
from podling.sim.simulated_cluster import simulated_cluster
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
