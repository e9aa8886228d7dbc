"""The cgroups above the pods follow the pods of a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling.api.core_v1 import Event, Node, Pod
from podling.client.base import PatchType
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import most_processes
from podling.machinery.quantity import value
from podling.runtime.base import LinuxResources, RuntimeFailure, Sandbox, SandboxSpec
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

CONFIG = KubeletConfig(
    node_addresses=("192.168.0.10",),
    capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"},
    system_reserved={"memory": "1Gi"},
    write_files=False,
)
GIB = 1 << 30


class GroupedRuntime(SimRuntime):
    """A simulated machine that keeps the limits of cgroups."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: dict[str, LinuxResources] = {}
        self.pods: dict[str, LinuxResources] = {}
        self.writes = 0
        self.fails = False

    async def update_cgroup(self, path: str, resources: LinuxResources) -> None:
        if self.fails:
            raise RuntimeFailure("device or resource busy")
        self.writes += 1
        self.limits[path] = resources

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        self.pods[spec.pod_name] = spec.resources
        return await super().run_sandbox(spec)

    @property
    def shares(self) -> int | None:
        return self.limits["/podling/burstable"].cpu_shares


@pytest.fixture
def machine() -> GroupedRuntime:
    return GroupedRuntime()


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path, machine: GroupedRuntime) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, config=CONFIG, runtime=machine) as found:
        yield found


def requesting(cpu: str) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]


async def node_events(node: SimNode) -> list[tuple[str | None, str | None]]:
    listing = await node.client.list(Event, "default")
    reasons = ("NodeAllocatableEnforced", "FailedNodeAllocatableEnforcement")
    return [(event.reason, event.message) for event in listing.items if event.reason in reasons]


async def test_class_follows_its_pods(node: SimNode, machine: GroupedRuntime) -> None:
    await node.pass_time(1)
    assert machine.limits["/podling"] == LinuxResources(cpu_shares=4096, memory_limit=7 * GIB)
    assert (machine.shares, machine.limits["/podling/besteffort"].cpu_shares) == (2, 2)
    await node.create(pod("one", containers=requesting("1")))
    await node.create(pod("two", containers=requesting("500m")))
    await node.create(pod("none"))
    await node.pass_time(1)
    assert machine.shares == 1536
    patch = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "2"}}}]}}
    await node.client.patch(
        Pod, "one", patch, "default", patch_type=PatchType.STRATEGIC, subresource="resize"
    )
    await node.pass_time(1)
    assert machine.shares == 2560
    await node.delete("two", 0)
    await node.pass_time(1)
    assert machine.shares == 2048


async def test_restarted_kubelet_counts_the_pods_that_run(node: SimNode, machine: GroupedRuntime) -> None:
    await node.create(pod("one", containers=requesting("1")))
    await node.pass_time(1)
    await node.stop()
    machine.limits.clear()
    await node.restart()
    await node.pass_time(1)
    assert machine.shares == 1024


async def test_only_changes_are_written_and_everything_once_a_minute(
    node: SimNode, machine: GroupedRuntime
) -> None:
    await node.pass_time(1)
    assert machine.writes == 3
    await node.create(pod("one", containers=requesting("1")))
    await node.create(pod("none"))
    await node.pass_time(5)
    assert machine.writes == 4
    machine.limits.clear()
    await node.pass_time(60)
    assert set(machine.limits) == {"/podling", "/podling/burstable", "/podling/besteffort"}
    assert machine.writes == 7


async def test_limit_that_cannot_be_set_is_an_event_and_is_tried_again(
    cluster: ControlPlane, tmp_path: Path, machine: GroupedRuntime
) -> None:
    machine.fails = True
    async with sim_node(cluster, tmp_path, config=CONFIG, runtime=machine) as node:
        await node.pass_time(130)
        text = 'Failed to update Node Allocatable Limits ["/podling"]: device or resource busy'
        failed = ("FailedNodeAllocatableEnforcement", text)
        assert await node_events(node) == [failed]
        machine.fails = False
        await node.pass_time(61)
        done = ("NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
        assert sorted(await node_events(node), reverse=True) == [done, failed]


async def test_reserved_processes_are_not_for_pods(
    cluster: ControlPlane, tmp_path: Path, machine: GroupedRuntime
) -> None:
    """The machine's largest number of processes is no part of the node's capacity in the API."""
    config = replace(CONFIG, kube_reserved={"pid": "1000"})
    async with sim_node(cluster, tmp_path, config=config, runtime=machine) as node:
        await node.pass_time(1)
        assert machine.limits["/podling"].pids_limit == most_processes() - 1000
        (found,) = (await node.client.list(Node)).items
        assert "pid" not in found.status.capacity


async def test_memory_is_kept_at_every_level_of_cgroups(
    cluster: ControlPlane, tmp_path: Path, machine: GroupedRuntime
) -> None:
    """A container's memory is kept only as far as that of its pod, its class and all pods is."""
    config = replace(CONFIG, feature_gates={"MemoryQoS": True}, memory_reservation_policy="TieredReservation")
    exact = {"cpu": "1", "memory": "1Gi"}
    async with sim_node(cluster, tmp_path, config=config, runtime=machine) as node:
        for name, resources in (
            ("exact", {"requests": exact, "limits": exact}),
            ("roomy", {"requests": {"memory": "2Gi"}}),
        ):
            await node.create(pod(name, containers=[{"name": name, "image": "a:1", "resources": resources}]))
        await node.pass_time(1)
        assert machine.limits["/podling"].unified == {"memory.min": str(3 * GIB)}
        assert machine.limits["/podling/burstable"].unified == {"memory.low": str(2 * GIB)}
        assert machine.pods["exact"].unified == {"memory.min": str(GIB)}
        assert machine.pods["roomy"].unified == {"memory.low": str(2 * GIB)}
        found = {
            each.name: each.resources.unified for each in await machine.list_containers() if each.resources
        }
        most = value((await node.client.list(Node)).items[0].status.allocatable["memory"])
        assert 6 * GIB < most < 7 * GIB, "less what is reserved and the threshold"
        high = int(2 * GIB + 0.9 * (most - 2 * GIB)) // 4096 * 4096
        whole = {"memory.oom.group": "1"}
        assert found == {
            "exact": {"memory.min": str(GIB), **whole},
            "roomy": {"memory.low": str(2 * GIB), "memory.high": str(high), **whole},
        }
