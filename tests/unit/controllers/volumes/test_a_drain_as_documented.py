"""The documents' example of a drain: three nodes, three pods of which two must stay, and little capacity."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.policy_v1 import Eviction, PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.cluster.components import run_components
from podling.controllers.volumes.volume_folders import NoFolders
from podling.machinery.conditions import find
from podling.machinery.errors import ApiError
from podling.machinery.pods import is_ready
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, make_ready, pod
from tests.support.workloads import deployment

NODES = ("node-1", "node-2", "node-3")


class Administrator:
    """Drains nodes, and is the nodes' kubelets too: pods become ready, and end when they are deleted."""

    def __init__(self, cluster: ControlPlane) -> None:
        self.cluster, self.client = cluster, cluster.client
        self.failed: set[str] = set()
        """Nodes whose kubelets report no more."""

    async def wait(self, seconds: int = 5) -> None:
        for _ in range(seconds):
            for name in NODES:
                if name not in self.failed:
                    await heartbeat(self.client, name)
            await self.cluster.advance(seconds=1)

    async def pods(self, node: str = "") -> list[Pod]:
        """Return all of them, or those of one node."""
        found = (await self.client.list(Pod, "default")).items
        return [pod for pod in found if node in ("", pod.spec.node_name)]

    async def become_ready(self) -> None:
        await make_ready(self.client)
        await self.wait()

    async def cordon(self, node: str) -> None:
        await self.client.patch(Node, node, {"spec": {"unschedulable": True}})
        await self.wait(1)

    async def evict(self, pod: Pod) -> None:
        name = pod.metadata.name or ""
        eviction = Eviction(metadata=ObjectMeta(name=name, namespace="default"))
        await self.client.create_subresource(Pod, name, "eviction", eviction, "default")
        await self.wait()

    async def finish(self, pod: Pod) -> None:
        await self.client.delete(Pod, pod.metadata.name or "", "default", grace_seconds=0)
        await self.wait()


@pytest.fixture
async def administrator(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[Administrator]:
    components = asyncio.create_task(run_components(cluster.client_for, "", NoFolders(tmp_path)))
    for name in NODES:
        await add_node(cluster.client, name)
        room = {"status": {"allocatable": {"pods": "2", "cpu": "4", "memory": "4Gi"}}}
        await cluster.client.patch(Node, name, room, subresource="status")
    yield Administrator(cluster)
    components.cancel()
    await asyncio.gather(components, return_exceptions=True)


async def test_drain_waits_for_budget_and_for_capacity(administrator: Administrator) -> None:
    client = administrator.client
    await administrator.wait()
    await client.create(deployment(3))
    chosen = LabelSelector(match_labels={"app": "web"})
    await client.create(
        PodDisruptionBudget(
            metadata=ObjectMeta(name="two-of-three", namespace="default"),
            spec=PodDisruptionBudgetSpec(min_available=2, selector=chosen),
        )
    )
    await administrator.wait()
    await administrator.become_ready()
    web = await administrator.pods()
    assert sorted(pod.spec.node_name or "" for pod in web) == list(NODES)

    # node-1 is drained: its pod goes at once, and another comes elsewhere.
    await administrator.cordon("node-1")
    (pod_a,) = await administrator.pods(node="node-1")
    await administrator.evict(pod_a)
    before = {pod.metadata.name for pod in web}
    (replacement,) = [pod for pod in await administrator.pods() if pod.metadata.name not in before]
    assert replacement.spec.node_name in ("node-2", "node-3")
    await administrator.finish(pod_a)

    # In a hurry: two are available and two must be, until the third is.
    full = replacement.spec.node_name or ""
    await administrator.cordon(full)
    first, second = await administrator.pods(node=full)
    healthy = first if is_ready(first) else second
    with pytest.raises(ApiError, match="Cannot evict pod as it would violate the pod's disruption budget"):
        await administrator.evict(healthy)
    await administrator.become_ready()

    # Then one of the two may go, the other not. For the first one's replacement there is one place left.
    await administrator.evict(first)
    with pytest.raises(ApiError, match="Cannot evict pod"):
        await administrator.evict(second)
    await administrator.finish(first)
    await administrator.become_ready()
    await administrator.evict(second)
    await administrator.finish(second)
    waiting = [pod for pod in await administrator.pods() if pod.spec.node_name == ""]
    assert len(waiting) == 1, "no node is left that has room for it"


async def test_pods_of_a_failed_node_are_replaced_on_a_healthy_one(administrator: Administrator) -> None:
    """A minute of silence, five minutes of toleration; then the ReplicaSet and the scheduler do the rest."""
    client = administrator.client
    await administrator.wait()
    await client.create(deployment(3))
    await administrator.wait()
    await administrator.become_ready()
    (lost,) = await administrator.pods(node="node-1")
    administrator.failed.add("node-1")
    await administrator.wait(60 + 300 + 20)
    found = {pod.metadata.name: pod for pod in await administrator.pods()}
    assert found[lost.metadata.name].metadata.deletion_timestamp is not None
    healthy = [pod.spec.node_name for name, pod in found.items() if name != lost.metadata.name]
    assert len(healthy) == 3
    assert set(healthy) <= {"node-2", "node-3"}


async def test_pod_that_fits_nowhere_is_kept_until_it_fits(administrator: Administrator) -> None:
    """No controller deletes it, however long it waits."""
    client = administrator.client
    await administrator.wait()
    await client.create(pod("patient", node_selector={"disk": "fast"}))
    await administrator.cluster.advance(hours=3)
    (waiting,) = await administrator.pods()
    assert (waiting.spec.node_name, waiting.metadata.deletion_timestamp) == ("", None)
    scheduled = find(waiting.status.conditions, "PodScheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason) == ("False", "Unschedulable")
    await client.patch(Node, "node-2", {"metadata": {"labels": {"disk": "fast"}}})
    await administrator.wait()
    (placed,) = await administrator.pods()
    assert (placed.metadata.uid, placed.spec.node_name) == (waiting.metadata.uid, "node-2")
