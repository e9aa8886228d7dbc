"""Heartbeats of a node: a lease every ten seconds, and its status after changes or rarely."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from msgspec import structs
from msgspec.structs import replace

from podling import clock
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Namespace, Node
from podling.client.base import Unreachable
from podling.client.local import LocalClient
from podling.client.requests import Backend, Target, User
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.controllers.nodes.taints import NETWORK_UNAVAILABLE
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import Machine
from podling.kubelet.node.node_agent import NodeAgent
from podling.kubelet.node.node_status import NodeHealth
from podling.machinery.errors import service_unavailable
from podling.network.overlay.node_condition import NetworkCondition
from podling.runtime.base import RuntimeStatus
from podling.runtime.changes import Changes
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.kubelet_node import NODE, SimNode, pod

LEASES = "kube-node-lease"


async def test_idle_node_renews_its_lease_and_rarely_reports_status(node: SimNode) -> None:
    await node.pass_time(30)
    leases, statuses = set(), set()
    for _ in range(900):
        await node.pass_time(1)
        lease = await node.client.get(Lease, NODE, LEASES)
        assert lease.spec.holder_identity == NODE
        leases.add(lease.spec.renew_time)
        statuses.add((await node.client.get(Node, NODE)).metadata.resource_version)
    assert 86 <= len(leases) <= 91, "every 10 s, or a little later"
    assert len(statuses) == 4, "what it was, and three heartbeats in fifteen minutes"


async def test_changed_status_is_reported_at_once(node: SimNode) -> None:
    await node.pass_time(30)
    before = {image.names for image in (await node.client.get(Node, NODE)).status.images}
    await node.create(pod(containers=[{"name": "app", "image": "new:1"}]))
    await node.pass_time(15)
    after = {image.names for image in (await node.client.get(Node, NODE)).status.images}
    assert after - before


async def test_failed_lease_renewal_is_retried_within_seven_seconds(
    node: SimNode,
) -> None:
    """The lease's namespace is terminating, so the lease cannot be created; then there is a new one."""
    await node.pass_time(5)
    client = node.client
    await client.delete(Namespace, LEASES)
    await client.delete(Lease, NODE, LEASES)
    await node.pass_time(120)
    found = await client.get(Namespace, LEASES)
    spec = structs.replace(found.spec, finalizers=())
    await client.update(structs.replace(found, spec=spec), subresource="finalize")
    await client.create(Namespace(metadata=structs.replace(found.metadata, **FRESH)))
    await node.pass_time(7.1)
    assert (await client.get(Lease, NODE, LEASES)).spec.holder_identity == NODE


class LeasesRefused:
    """An API server that refuses every request for a lease, and keeps the times of the requests."""

    def __init__(self, backend: Backend) -> None:
        self.times: list[float] = []
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        if name != "get":
            return method

        async def get(target: Target, *rest: Any) -> Any:
            if target.resource.kind != "Lease":
                return await method(target, *rest)
            self.times.append(clock.monotonic())
            raise service_unavailable("busy")

        return get


async def test_lease_is_retried_after_200_ms_doubling_to_seven_seconds(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    backend = LeasesRefused(cluster.backend)
    node = SimNode(cluster, SimRuntime(), KubeletConfig(write_files=False), tmp_path)
    client = LocalClient(cast("Backend", backend), User(f"system:node:{NODE}", ("system:nodes",)))
    agent = NodeAgent(replace(node.deps, client=client), Machine(), NODE, NodeHealth, Changes())
    task = asyncio.create_task(agent.renew_lease())
    await clock.sleep(30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    pauses = [round(after - before, 3) for before, after in pairwise(backend.times)]
    assert pauses[:8] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0]


class CutOff:
    """An API server that does not answer while ``is_cut``."""

    def __init__(self, backend: Backend) -> None:
        self.is_cut = False
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)

        async def answer(*arguments: Any) -> Any:
            if self.is_cut:
                raise Unreachable("no route")
            return await method(*arguments)

        return answer


async def test_node_that_was_marked_as_silent_is_ready_soon_after_its_lease(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """Nothing but the lease says that the API server is back: no informer of the node runs here."""
    backend = CutOff(cluster.backend)
    node = SimNode(cluster, SimRuntime(), KubeletConfig(write_files=False), tmp_path)
    client = LocalClient(cast("Backend", backend), User(f"system:node:{NODE}", ("system:nodes",)))
    health = NodeHealth(runtime=RuntimeStatus(name="sim", version="1"))
    agent = NodeAgent(replace(node.deps, client=client), Machine(), NODE, lambda: health, Changes())
    tasks = [asyncio.create_task(agent.run()), asyncio.create_task(agent.renew_lease())]
    await agent.ready.wait()
    await clock.sleep(1)
    backend.is_cut = True
    await clock.sleep(60)
    found = await cluster.client.get(Node, NODE)
    silent = tuple(replace(each, status="Unknown") for each in found.status.conditions)
    await cluster.client.update(
        replace(found, status=replace(found.status, conditions=silent)), subresource="status"
    )
    backend.is_cut = False
    await clock.sleep(7.5)
    found = await cluster.client.get(Node, NODE)
    assert {each.type: each.status for each in found.status.conditions}["Ready"] == "True"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


FRESH = {"uid": None, "resource_version": None, "deletion_timestamp": None, "creation_timestamp": None}


async def test_node_without_a_route_gets_no_pods_until_it_has_one(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """The taint comes with the registration, so that it is there before the node is Ready."""
    config = KubeletConfig(write_files=False, network_unavailable=True)
    async with running(cluster.client, NodeLifecycleController):
        node = SimNode(cluster, SimRuntime(), config, tmp_path)
        healthy = NodeHealth(runtime=RuntimeStatus(name="sim", version="1"))
        agent = NodeAgent(node.deps, Machine(), NODE, lambda: healthy, Changes())
        task = asyncio.create_task(agent.run())
        await agent.ready.wait()
        await cluster.advance(seconds=1)
        found = await cluster.client.get(Node, NODE)
        shown = {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}
        assert shown["NetworkUnavailable"] == ("True", "NoRouteCreated", "Node created without a route")
        assert shown["Ready"][0] == "True"
        assert [each.key for each in found.spec.taints] == [NETWORK_UNAVAILABLE]
        await NetworkCondition(cluster.client).write(found, "")
        await cluster.advance(seconds=1)
        found = await cluster.client.get(Node, NODE)
        shown = {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}
        assert shown["NetworkUnavailable"] == ("False", "RouteCreated", "RouteController created a route")
        assert found.spec.taints == ()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
