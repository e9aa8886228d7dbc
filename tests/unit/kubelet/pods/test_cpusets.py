"""CPUs of their own on a simulated node: admission, running containers, restarts, resizes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import PatchType
from podling.kubelet.config import KubeletConfig
from podling.runtime.base import LinuxResources
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, condition, pod, sim_node
from tests.unit.kubelet.topology.machines import DUAL_SOCKET_HT
from tests.unit.kubelet.topology.pods_by_size import Size, sized

CONFIG = KubeletConfig(
    node_addresses=("192.168.0.10",),
    capacity={"cpu": "12", "memory": "16Gi", "ephemeral-storage": "100Gi"},
    cluster_dns=("10.96.0.10",),
    write_files=False,
    cpu_manager_policy="static",
    reserved_system_cpus="0,6",
    topology_manager_policy="single-numa-node",
)


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, config=CONFIG, topology=DUAL_SOCKET_HT) as found:
        yield found


async def resources(node: SimNode, name: str) -> LinuxResources:
    """Return the limits of the only container of a pod."""
    uid = (await node.get(name)).metadata.uid
    found = [c for c in await node.runtime.list_containers() if c.labels["io.kubernetes.pod.uid"] == uid]
    assert found[-1].resources is not None
    return found[-1].resources


async def create(node: SimNode, name: str, size: Size | None) -> None:
    containers = [sized("app", size)] if size else None
    await node.create(pod(name, containers=containers))
    await node.pass_time(1)


async def test_running_containers_leave_the_cpus_of_a_new_pod(node: SimNode) -> None:
    await create(node, "shares", None)
    assert (await resources(node, "shares")).cpuset_cpus == "0-11"
    await create(node, "owns", ("2", "1Gi"))
    own = await resources(node, "owns")
    assert (own.cpuset_cpus, own.cpu_quota) == ("2,8", None)
    assert (await resources(node, "shares")).cpuset_cpus == "0-1,3-7,9-11"
    await node.delete("owns", 0)
    await node.pass_time(3)
    assert (await resources(node, "shares")).cpuset_cpus == "0-11"


async def test_restarted_kubelet_keeps_the_assignments(node: SimNode) -> None:
    await create(node, "owns", ("2", "1Gi"))
    await node.restart()
    await create(node, "next", ("2", "1Gi"))
    assert (await resources(node, "owns")).cpuset_cpus == "2,8"
    assert (await resources(node, "next")).cpuset_cpus == "4,10"


async def test_cpus_of_a_pod_deleted_while_the_kubelet_was_down_are_shared(node: SimNode) -> None:
    await create(node, "owns", ("2", "1Gi"))
    await node.stop()
    await node.delete("owns", 0)
    await node.restart()
    await node.pass_time(20)
    await create(node, "shares", None)
    assert (await resources(node, "shares")).cpuset_cpus == "0-11"


async def test_pod_that_no_numa_node_can_hold_is_rejected(node: SimNode) -> None:
    await create(node, "large", ("7", "1Gi"))
    found = await node.get("large")
    assert (found.status.phase, found.status.reason) == ("Failed", "TopologyAffinityError")
    assert found.status.message == "Pod was rejected: Resources cannot be allocated with Topology locality"
    assert await node.events("large") == [
        "TopologyAffinityError: Resources cannot be allocated with Topology locality"
    ]


async def test_allocatable_cpus_exclude_the_reserved_ones(node: SimNode) -> None:
    await create(node, "fits", ("6", "1Gi"))
    assert condition(await node.get("fits"), "Ready") == "True"
    await create(node, "too-much", ("5", "1Gi"))
    found = await node.get("too-much")
    assert found.status.reason == "OutOfcpu"
    assert "requested: 5000, used: 6000, capacity: 10000" in (found.status.message or "")


async def test_pod_with_cpus_of_its_own_keeps_them_over_an_infeasible_resize(node: SimNode) -> None:
    """And over a restart of the kubelet, which finds the resize still infeasible, and over its recall."""
    await create(node, "owns", ("2", "1Gi"))
    await create(node, "shares", None)
    before = await node.get("owns")
    for cpu in ("3", "2"):
        change = {"spec": {"containers": [sized("app", (cpu, "1Gi"))]}}
        kind = PatchType.STRATEGIC
        await node.client.patch(Pod, "owns", change, "default", patch_type=kind, subresource="resize")
        await node.pass_time(1)
        for restarts in (False, True):
            if restarts:
                await node.restart()
                await node.pass_time(20)
            found, own = await node.get("owns"), await resources(node, "owns")
            refused = "True Infeasible" if cpu == "3" else "absent"
            assert condition(found, "PodResizePending") == refused
            assert (own.cpuset_cpus, own.cpu_quota, own.cpu_shares) == ("2,8", None, 2048)
            assert (await resources(node, "shares")).cpuset_cpus == "0-1,3-7,9-11"
            assert found.status.container_statuses == before.status.container_statuses
    told = [each for each in await node.events("owns") if each.startswith("Resize")]
    assert len(told) == 1, "a restart says nothing new"
    assert told[0].startswith("ResizeInfeasible: Pod resize Infeasible: ")
    assert 'Guaranteed Pods alongside CPU Manager policy \\"static\\"' in told[0]
