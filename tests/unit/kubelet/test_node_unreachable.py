"""A node without a kubelet: the statuses of its pods, their eviction, and the end of the story.

The phase ``Unknown`` is no longer set. A pod of a lost node keeps its phase and is not Ready. Five minutes
later it is being deleted, until its kubelet returns or an operator deletes it by force.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.apiserver.kinds.pod import pod_table
from podling.controllers.nodes.node_lifecycle import NodeLifecycleController
from podling.controllers.nodes.taint_eviction import TaintEvictionController
from podling.runtime.base import ContainerState
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, running, told
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node

QUICK = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    """The lost node; a second one is healthy throughout, so evictions are not suspended."""
    async with sim_node(cluster, tmp_path) as found:
        await add_node(cluster.client, "healthy")
        async with running(cluster.client, NodeLifecycleController, TaintEvictionController):
            yield found


async def pass_time(node: SimNode, seconds: int) -> None:
    for _ in range(seconds // 10):
        await heartbeat(node.client, "healthy")
        await node.pass_time(10)


async def printed(node: SimNode, name: str) -> str:
    return str(pod_table.row(await node.get(name), clock.now())[2])


async def test_a_pod_of_a_lost_node(node: SimNode) -> None:
    await node.create(pod("patient"))
    await node.create(pod("restless", tolerations=[{**QUICK, "tolerationSeconds": 30}]))
    await node.create(pod("forever", tolerations=[QUICK]))
    await pass_time(node, 10)
    await node.stop()
    await pass_time(node, 70)

    found = await node.client.get(Node, NODE)
    (ready,) = [held for held in found.status.conditions if held.type == "Ready"]
    assert (ready.status, ready.reason) == ("Unknown", "NodeStatusUnknown")
    assert ready.message == "Kubelet stopped posting node status."
    lost = await node.get("patient")
    assert (lost.status.phase, lost.status.reason) == ("Running", "")
    assert condition(lost, "Ready").startswith("False")
    assert condition(lost, "ContainersReady") == "True"
    assert await printed(node, "patient") == "Running"
    assert "Warning NodeNotReady patient: Node is not ready" in await told(node.client)

    await pass_time(node, 60)
    words = {name: await printed(node, name) for name in ("patient", "restless", "forever")}
    assert words == {"patient": "Running", "restless": "Terminating", "forever": "Running"}
    await pass_time(node, 250)
    lost = await node.get("patient")
    assert await printed(node, "patient") == "Terminating"
    assert condition(lost, "DisruptionTarget") == "True DeletionByTaintManager"
    assert await printed(node, "forever") == "Running"

    await pass_time(node, 600)
    assert await printed(node, "patient") == "Terminating", "nobody but its kubelet may say that it is gone"
    await node.start()
    await pass_time(node, 40)
    assert [await node.exists(name) for name in ("patient", "restless", "forever")] == [False, False, True]
    kept = await node.get("forever")
    assert (condition(kept, "Ready"), kept.status.container_statuses[0].restart_count) == ("True", 0)
    states = [container.state for container in await node.runtime.list_containers()]
    assert states == [ContainerState.RUNNING]


async def test_a_node_that_comes_back_in_time_keeps_its_pods(node: SimNode) -> None:
    await node.create(pod())
    await pass_time(node, 10)
    await node.stop()
    await pass_time(node, 120)
    assert condition(await node.get(), "Ready").startswith("False")
    await node.start()
    await pass_time(node, 400)
    found: Pod = await node.get()
    assert (condition(found, "Ready"), found.metadata.deletion_timestamp) == ("True", None)
    assert found.status.container_statuses[0].restart_count == 0


async def test_a_forced_deletion_frees_the_name_at_once(node: SimNode) -> None:
    await node.create(pod())
    await pass_time(node, 10)
    await node.stop()
    await pass_time(node, 60)
    await node.delete(grace_seconds=0)
    assert not await node.exists()
    await node.start()
    await pass_time(node, 10)
    assert await node.runtime.list_sandboxes() == ()
