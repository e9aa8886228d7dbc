"""Node-pressure eviction on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Event, Node
from podling.kubelet.config import KubeletConfig
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node

MI = 1 << 20


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), capacity={"cpu": "4", "memory": "1Gi"}, write_files=False
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found


async def test_node_short_of_memory_evicts_the_largest_pod(node: SimNode) -> None:
    await node.create(pod("modest", script={"usage": [{"memoryBytes": 200 * MI}]}))
    await node.create(pod("greedy", script={"usage": [{"after": 30, "memoryBytes": 800 * MI}]}))
    await node.pass_time(25)
    assert (await node.get("greedy")).status.phase == "Running"
    await node.pass_time(25)
    found = await node.get("greedy")
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    assert condition(found, "DisruptionTarget") == "True TerminationByKubelet"
    (event,) = [each for each in (await node.client.list(Event, "default")).items if each.reason == "Evicted"]
    assert event.metadata.annotations == {
        "offending_containers": "app",
        "offending_containers_usage": "800Mi",
        "starved_resource": "memory",
    }
    assert (await node.get("modest")).status.phase == "Running"
    pressed = {c.type: c.status for c in (await node.client.get(Node, NODE)).status.conditions}
    assert pressed["MemoryPressure"] == "True"
    await node.create(pod("late"))
    await node.pass_time(1)
    late = await node.get("late")
    assert (late.status.phase, late.status.reason) == ("Failed", "Evicted")
    assert late.status.message == "Pod was rejected: The node had condition: [MemoryPressure]. "
    await node.pass_time(320)
    pressed = {c.type: c.status for c in (await node.client.get(Node, NODE)).status.conditions}
    assert pressed["MemoryPressure"] == "False"
    await node.create(pod("later"))
    await node.pass_time(1)
    assert (await node.get("later")).status.phase == "Running"


async def test_eviction_ends_all_containers_after_their_pre_stop_hooks(node: SimNode) -> None:
    """Under a hard threshold the hook has one second."""
    hooked = {"lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}
    containers: list[dict[str, Any]] = [
        {"name": "app", "image": "app:1", **hooked},
        {"name": "other", "image": "app:1"},
    ]
    await node.create(
        pod(containers=containers, script={"usage": [{}, {"after": 15, "memoryBytes": 1000 * MI}]})
    )
    await node.pass_time(15)
    began = {held.name for held in await node.runtime.list_containers()}
    assert began == {"app", "other"}
    await node.pass_time(30)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    ended = {held.name: held.state.terminated for held in found.status.container_statuses}
    assert sorted(name for name, state in ended.items() if state is not None) == ["app", "other"]
    app, other = ended["app"], ended["other"]
    assert app is not None
    assert other is not None
    assert app.finished_at is not None
    assert other.finished_at is not None
    assert round((app.finished_at - other.finished_at).total_seconds()) == 1


async def test_conditions_are_set_before_pods_above_their_own_limits_are_evicted(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """Such an eviction ends the round, but the node shows its pressure."""
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), capacity={"cpu": "4", "memory": "1Gi"}, resolv_conf=None
    )
    mount = {"name": "scratch", "mountPath": "/scratch"}
    containers = [{"name": "app", "image": "app:1", "volumeMounts": [mount]}]
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "64Ki"}}]
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        await node.create(pod("full", containers=containers, volumes=volumes))
        await node.create(pod("greedy", script={"usage": [{"after": 14, "memoryBytes": 1000 * MI}]}))
        await node.pass_time(13)
        uid = (await node.get("full")).metadata.uid or ""
        scratch = node.deps.root_dir / "pods" / uid / "volumes/kubernetes.io~empty-dir/scratch"
        (scratch / "much").write_bytes(b"x" * 100_000)
        for _ in range(12):
            await node.pass_time(1)
            if (await node.get("full")).status.phase == "Failed":
                break
        assert (await node.get("full")).status.reason == "Evicted"
        assert (await node.get("greedy")).status.phase == "Running"
        pressed = {c.type: c.status for c in (await node.client.get(Node, NODE)).status.conditions}
        assert pressed["MemoryPressure"] == "True"
