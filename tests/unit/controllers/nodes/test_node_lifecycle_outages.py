"""The API server is away for longer than a node may be silent: no node is given up for that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from podling import clock
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Node, NodeCondition, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.local import LocalClient
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.machinery.conditions import find
from podling.machinery.errors import forbidden, service_unavailable
from podling.sim.connection import Connection, RequestFault
from podling.sim.faulty_store import FaultyStore, StoreFault
from podling.sim.simulated_cluster import simulated_cluster
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, set_phase

NAMES = ("a", "b", "c")


@asynccontextmanager
async def controller(cluster: ControlPlane) -> AsyncIterator[Connection]:
    """Run the controller over a connection that can be cut, with three nodes that have leases."""
    connection = Connection(lambda: cluster.backend, "controller")
    for name in NAMES:
        await add_node(cluster.client, name)
        await cluster.client.create(Lease(metadata=ObjectMeta(name=name, namespace="kube-node-lease")))
    async with running(LocalClient(connection), NodeLifecycleController):
        yield connection


async def renew(cluster: ControlPlane, *names: str) -> None:
    for name in names:
        spec = LeaseSpec(renew_time=clock.now())
        patch = {"spec": {"renewTime": spec.renew_time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}  # type: ignore[union-attr]
        await cluster.client.patch(Lease, name, patch, "kube-node-lease")


async def pass_time(cluster: ControlPlane, seconds: int, *alive: str) -> None:
    for _ in range(seconds // 10):
        await renew(cluster, *alive)
        await cluster.advance(seconds=10)


async def ready(cluster: ControlPlane, name: str) -> NodeCondition:
    found = find((await cluster.client.get(Node, name)).status.conditions, "Ready")
    assert found is not None
    return found


async def states(cluster: ControlPlane) -> list[str]:
    return [(await ready(cluster, name)).status for name in NAMES]


@pytest.mark.parametrize("seconds", [20, 45, 51, 58, 120, 400])
async def test_outage_of_the_whole_cluster_makes_no_node_unknown(cluster: ControlPlane, seconds: int) -> None:
    """No lease is renewed during the outage, and the kubelets come back later than the controller."""
    async with controller(cluster) as connection:
        await pass_time(cluster, 60, *NAMES)
        await connection.cut()
        await cluster.advance(seconds=seconds)
        connection.mend()
        await cluster.advance(seconds=17)
        assert await states(cluster) == ["True"] * 3
        await pass_time(cluster, 200, *NAMES)
        assert await states(cluster) == ["True"] * 3
        changed = [(await ready(cluster, name)).last_transition_time for name in NAMES]
        assert changed == [(await ready(cluster, NAMES[0])).last_transition_time] * 3


@pytest.mark.parametrize("seconds", [12, 30, 300])
async def test_server_that_stops_answering_makes_no_node_unknown(cluster: ControlPlane, seconds: int) -> None:
    """The controller requests a lease, and the answer arrives before any kubelet could renew its own."""
    async with controller(cluster) as connection:
        await pass_time(cluster, 60, *NAMES)
        fault = RequestFault(verb="get", resource="leases", seconds=seconds, times=1)
        connection.faults.append(fault)
        await cluster.advance(seconds=60)
        assert fault.met == 1
        await cluster.advance(seconds=seconds)
        assert await states(cluster) == ["True"] * 3
        await pass_time(cluster, 40, "a", "b")
        assert await states(cluster) == ["True"] * 3
        await pass_time(cluster, 40, "a", "b")
        assert await states(cluster) == ["True", "True", "Unknown"]


async def test_node_that_stays_silent_after_the_outage_is_given_up_a_grace_period_later(
    cluster: ControlPlane,
) -> None:
    async with controller(cluster) as connection:
        await pass_time(cluster, 60, *NAMES)
        await connection.cut()
        await cluster.advance(seconds=120)
        connection.mend()
        await pass_time(cluster, 40, "a", "b")
        assert await states(cluster) == ["True"] * 3
        await pass_time(cluster, 40, "a", "b")
        assert await states(cluster) == ["True", "True", "Unknown"]


async def test_late_informer_is_no_silence(cluster: ControlPlane) -> None:
    """Renewals arrive at the server while the watch of leases is behind by two minutes."""
    async with controller(cluster) as connection:
        await pass_time(cluster, 30, *NAMES)
        connection.faults.append(RequestFault(verb="watch", resource="leases", seconds=120))
        await pass_time(cluster, 200, "a", "b")
        assert await states(cluster) == ["True", "True", "Unknown"]


async def test_looks_go_on_each_period_while_requests_fail(cluster: ControlPlane) -> None:
    """Failures do not add up: another verdict follows 15 s after one that could not be written."""
    async with controller(cluster) as connection:
        await pass_time(cluster, 60, *NAMES)
        fault = RequestFault(
            verb="update", resource="nodes/status", error=lambda: service_unavailable("busy")
        )
        connection.faults.append(fault)
        await pass_time(cluster, 300, "a", "b")
        assert 12 <= fault.met <= 20
        connection.faults.clear()
        await pass_time(cluster, 20, "a", "b")
        assert await states(cluster) == ["True", "True", "Unknown"]


async def test_node_that_cannot_be_changed_does_not_stand_in_the_way_of_others(cluster: ControlPlane) -> None:
    async with controller(cluster) as connection:
        await pass_time(cluster, 60, *NAMES)
        refusal = RequestFault(
            verb="update",
            resource="nodes/status",
            error=lambda: forbidden("nodes", "", "a", "no"),
            times=1,
        )
        connection.faults.append(refusal)
        await pass_time(cluster, 60, "c")
        assert refusal.met == 1
        assert await states(cluster) == ["Unknown", "Unknown", "True"]


async def test_pod_that_cannot_be_marked_does_not_keep_the_others_ready(cluster: ControlPlane) -> None:
    """Case of ``MarkPodsNotReady``, which collects the errors of all pods."""
    async with controller(cluster) as connection:
        for name in ("p", "q"):
            await cluster.client.create(pod(name, node="a"))
            await set_phase(cluster.client, name, "Running", ready=True)
        refusal = RequestFault(
            verb="update",
            resource="pods/status",
            error=lambda: forbidden("pods", "", "p", "no"),
            times=1,
        )
        connection.faults.append(refusal)
        while not refusal.met:
            await renew(cluster, "b", "c")
            await cluster.advance(seconds=1)

        async def pods_ready() -> list[str]:
            return [
                condition.status
                for each in (await cluster.client.list(Pod, "default")).items
                if (condition := find(each.status.conditions, "Ready")) is not None
            ]

        await cluster.advance(seconds=1)
        assert await pods_ready() == ["True", "False"]
        await cluster.advance(seconds=5)
        assert await pods_ready() == ["False", "False"]


@pytest.mark.parametrize("seconds", [70, 112, 182, 224])
async def test_store_that_takes_no_writes_makes_no_node_unknown(seconds: int) -> None:
    """Leases cannot be renewed while it lasts, and reads succeed."""
    store = FaultyStore()
    async with simulated_cluster(nodes=6, store=store) as cluster:
        await cluster.advance(seconds=120 + seconds % 10 * 1.3)
        fault = StoreFault(fails=True)
        store.faults.append(fault)
        await cluster.advance(seconds=seconds)
        store.faults.remove(fault)
        for _ in range(60):
            await cluster.advance(seconds=2)
            nodes = (await cluster.client.list(Node)).items
            found = [find(node.status.conditions, "Ready") for node in nodes]
            assert [each.status for each in found if each is not None] == ["True"] * 6


@pytest.mark.parametrize("seconds", [45, 58, 63, 71, 120])
async def test_cluster_whose_api_server_hangs_keeps_its_nodes(seconds: int) -> None:
    """Requests of all parts are answered when the server goes on, in any order; none fails."""
    async with simulated_cluster(nodes=4) as cluster:
        await cluster.advance(minutes=2)
        fault = RequestFault()
        for connection in cluster.connections.values():
            connection.faults.append(fault)
        for left in range(seconds, 0, -1):
            fault.seconds = float(left)
            await cluster.advance(seconds=1)
        for connection in cluster.connections.values():
            connection.faults.remove(fault)
        for _ in range(100):
            await cluster.advance(seconds=1)
            nodes = (await cluster.client.list(Node)).items
            found = [find(node.status.conditions, "Ready") for node in nodes]
            assert [each.status for each in found if each is not None] == ["True"] * 4


@pytest.mark.parametrize("seconds", [40, 52, 61, 97, 180])
async def test_cluster_without_an_api_server_keeps_its_nodes(seconds: int) -> None:
    """Real kubelets, which back off while the server is away."""
    async with simulated_cluster(nodes=4) as cluster:
        await cluster.advance(minutes=2)

        async def conditions() -> list[NodeCondition | None]:
            nodes = (await cluster.client.list(Node)).items
            return [find(node.status.conditions, "Ready") for node in nodes]

        since = [each.last_transition_time for each in await conditions() if each is not None]
        await cluster.stop_server()
        await cluster.advance(seconds=seconds)
        await cluster.start_server()
        await cluster.advance(minutes=5)
        after = [each for each in await conditions() if each is not None]
        assert [each.status for each in after] == ["True"] * 4
        assert [each.last_transition_time for each in after] == since
