"""The order in which a resize changes cgroups: a pod's limits are never below those of its containers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import PatchType
from podling.kubelet.config import KubeletConfig
from podling.runtime.base import ContainerState, LinuxResources, RuntimeFailure
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, condition, pod, sim_node


class CgroupRuntime(SimRuntime):
    """A runtime with cgroups of pods, which refuses what the kernel refuses with version 1 of cgroups."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[str, str, int]] = []
        """The changes: of which cgroup, of which file, and its value."""
        self.whole: dict[str, int] = {}
        """The pod's limits that are in force."""
        self.starts: list[dict[str, int]] = []
        """These limits at each start of a container."""

    async def start_container(self, container_id: str) -> None:
        self.starts.append(dict(self.whole))
        await super().start_container(container_id)

    async def update_sandbox_resources(self, sandbox_id: str, resources: LinuxResources) -> None:
        for name, amount in _given(resources).items():
            self.written.append(("pod", name, amount))
            self.whole[name] = amount
        await self._check()

    async def update_resources(self, container_id: str, resources: LinuxResources) -> None:
        await super().update_resources(container_id, resources)
        (name,) = [found.name for found in await self.list_containers() if found.id == container_id]
        self.written += [(name, file, amount) for file, amount in _given(resources).items()]
        await self._check()

    async def _check(self) -> None:
        whole = self.whole.get("cpu_quota", -1)
        for found in await self.list_containers():
            quota = found.resources.cpu_quota if found.resources is not None else None
            if found.state is ContainerState.RUNNING and 0 < whole < (quota or 0):
                raise RuntimeFailure("write cpu.cfs_quota_us: invalid argument")


def _given(resources: LinuxResources) -> dict[str, int]:
    names = ("memory_limit", "cpu_quota")
    return {name: getattr(resources, name) for name in names if getattr(resources, name) is not None}


@pytest.fixture
def runtime() -> CgroupRuntime:
    return CgroupRuntime()


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path, runtime: CgroupRuntime) -> AsyncIterator[SimNode]:
    capacity = {"cpu": "8", "memory": "16Gi"}
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), write_files=False, capacity=capacity, fail_swap_on=False
    )
    async with sim_node(cluster, tmp_path, config=config, runtime=runtime) as found:
        yield found


def sized(name: str, cpu: str, memory: str, **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": name, "image": "x:1", "resources": {"requests": amounts, "limits": amounts}, **more}


async def resize(node: SimNode, *containers: dict[str, Any]) -> None:
    change = {"spec": {"containers": list(containers)}}
    kind = PatchType.STRATEGIC
    await node.client.patch(Pod, "web", change, "default", patch_type=kind, subresource="resize")
    await node.pass_time(1)


GI = 1 << 30
ONE, TWO = 100_000, 200_000


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        pytest.param(
            [("a", "1", "1Gi")],
            [("a", "2", "2Gi")],
            ["pod memory_limit 2", "a memory_limit 2", "pod cpu_quota 2", "a cpu_quota 2"],
            id="grows",
        ),
        pytest.param(
            [("a", "2", "2Gi")],
            [("a", "1", "1Gi")],
            ["a memory_limit 1", "pod memory_limit 1", "a cpu_quota 1", "pod cpu_quota 1"],
            id="shrinks",
        ),
        pytest.param(
            [("a", "1", "2Gi")],
            [("a", "2", "1Gi")],
            ["a memory_limit 1", "pod memory_limit 1", "pod cpu_quota 2", "a cpu_quota 2"],
            id="more-cpu-less-memory",
        ),
        pytest.param(
            [("a", "2", "1Gi")],
            [("a", "1", "2Gi")],
            ["pod memory_limit 2", "a memory_limit 2", "a cpu_quota 1", "pod cpu_quota 1"],
            id="less-cpu-more-memory",
        ),
        pytest.param(
            [("a", "1", "1Gi"), ("b", "2", "1Gi")],
            [("a", "3", "1Gi"), ("b", "1", "1Gi")],
            ["pod memory_limit 2", "b cpu_quota 1", "pod cpu_quota 4", "a cpu_quota 3"],
            id="one-grows-another-shrinks",
        ),
        pytest.param(
            [("a", "2", "1Gi"), ("b", "1", "3Gi")],
            [("a", "1", "2Gi"), ("b", "3", "1Gi")],
            [
                "b memory_limit 1",
                "pod memory_limit 3",
                "a memory_limit 2",
                "a cpu_quota 1",
                "pod cpu_quota 4",
                "b cpu_quota 3",
            ],
            id="each-grows-and-shrinks",
        ),
    ],
)
async def test_pods_limits_are_never_below_those_of_its_containers(
    node: SimNode, runtime: CgroupRuntime, before: list[Any], after: list[Any], written: list[str]
) -> None:
    await node.create(pod(containers=[sized(*each) for each in before]))
    await node.pass_time(5)
    await resize(node, *(sized(*each) for each in after))
    assert condition(await node.get(), "PodResizeInProgress") == "absent"
    units = {"memory_limit": GI, "cpu_quota": ONE}
    assert [f"{where} {name} {amount // units[name]}" for where, name, amount in runtime.written] == written
    assert [status.restart_count for status in (await node.get()).status.container_statuses] == [0] * len(
        after
    )


RESTARTS = [{"resourceName": name, "restartPolicy": "RestartContainer"} for name in ("cpu", "memory")]


async def test_pod_grows_before_its_container_restarts(node: SimNode, runtime: CgroupRuntime) -> None:
    """A container cannot start with a quota above the pod's."""
    runtime.whole = {"cpu_quota": ONE}
    await node.create(pod(containers=[sized("a", "1", "1Gi", resizePolicy=RESTARTS)]))
    await node.pass_time(5)
    runtime.starts.clear()
    await resize(node, sized("a", "2", "2Gi"))
    await resize(node, sized("a", "1", "1Gi"))
    grown, shrunk = {"cpu_quota": TWO, "memory_limit": 2 * GI}, {"cpu_quota": ONE, "memory_limit": GI}
    assert runtime.starts == [grown, grown]
    assert runtime.whole == shrunk
    found = await node.get()
    assert condition(found, "PodResizeInProgress") == "absent"
    assert found.status.container_statuses[0].restart_count == 2


async def test_limit_of_zero_takes_a_limit_away(node: SimNode, runtime: CgroupRuntime) -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    await node.create(pod(containers=[{"name": "a", "image": "x:1", "resources": resources}]))
    await node.pass_time(5)
    zero = {"requests": {"cpu": "100m", "memory": "0"}, "limits": {"cpu": "1", "memory": "0"}}
    await resize(node, {"name": "a", "resources": zero})
    (found,) = await runtime.list_containers()
    assert found.resources is not None
    assert (found.resources.memory_limit, found.resources.memory_swap_limit) == (-1, -1)
    assert runtime.whole == {"memory_limit": -1, "cpu_quota": ONE}
    (status,) = (await node.get()).status.container_statuses
    assert status.resources is not None
    assert status.resources.limits == {"cpu": "1", "memory": "0"}
    await resize(node, {"name": "a", "resources": resources | {"requests": {"cpu": "100m", "memory": "1Gi"}}})
    assert runtime.whole == {"memory_limit": GI, "cpu_quota": ONE}
    assert condition(await node.get(), "PodResizeInProgress") == "absent"
