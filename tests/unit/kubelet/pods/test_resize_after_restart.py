"""Resizes over a restart of the kubelet: resources granted before stay granted, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import PatchType
from podling.kubelet.config import KubeletConfig
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, condition, pod, sim_node


def sized(cpu: str, memory: str = "1Gi", **container: Any) -> list[dict[str, Any]]:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": amounts, "limits": amounts}
    return [{"name": "app", "image": "app:1", "resources": resources, **container}]


async def resize(node: SimNode, name: str, cpu: str, memory: str = "1Gi") -> None:
    change = {"spec": {"containers": sized(cpu, memory)}}
    kind = PatchType.STRATEGIC
    await node.client.patch(Pod, name, change, "default", patch_type=kind, subresource="resize")


async def allocated_cpu(node: SimNode, name: str) -> str:
    (status,) = (await node.get(name)).status.container_statuses
    return status.allocated_resources["cpu"]


@pytest.mark.parametrize("name", ["a-grows", "z-grows"])
async def test_deferred_resize_stays_deferred(node: SimNode, name: str) -> None:
    """The new kubelet counts what admitted pods hold before it decides, in any order of the pods."""
    await node.create(pod("holds", containers=sized("3")))
    await node.create(pod(name, containers=sized("1")))
    await node.pass_time(5)
    await resize(node, name, "3")
    await node.pass_time(1)
    before, told = await node.get(name), await node.events(name)
    assert condition(before, "PodResizePending") == "True Deferred"
    await node.restart()
    await node.pass_time(30)
    assert (await node.get(name)).status == before.status
    assert await node.events(name) == told


async def test_new_pod_is_refused_resources_of_a_running_one(node: SimNode) -> None:
    await node.create(pod("holds", containers=sized("3")))
    await node.pass_time(5)
    await node.stop()
    await node.create(pod("another", containers=sized("3")))
    await node.restart()
    await node.pass_time(5)
    assert (await node.get("another")).status.reason == "OutOfcpu"
    assert (await node.get("holds")).status.phase == "Running"


async def test_deferred_pod_holds_what_was_granted(node: SimNode) -> None:
    """New pods are not kept away by more that it only wants."""
    await node.create(pod("holds", containers=sized("2")))
    await node.create(pod("wants", containers=sized("1")))
    await node.pass_time(5)
    await resize(node, "wants", "3")
    await node.pass_time(1)
    await node.stop()
    await node.create(pod("another", containers=sized("1")))
    await node.restart()
    await node.pass_time(5)
    assert (await node.get("another")).status.phase == "Running"
    assert condition(await node.get("wants"), "PodResizePending") == "True Deferred"


async def test_deferred_resize_beside_one_in_progress_stays_deferred(node: SimNode) -> None:
    """Only the status shows what was granted; the spec does not."""
    used = {"usage": [{"memoryBytes": 800 << 20}]}
    await node.create(pod("a-grows", containers=sized("1"), script=used))
    await node.create(pod("holds", containers=sized("2")))
    await node.pass_time(5)
    await resize(node, "a-grows", "1", "512Mi")
    await node.pass_time(1)
    await resize(node, "a-grows", "3", "512Mi")
    await node.pass_time(1)
    before = await node.get("a-grows")
    assert condition(before, "PodResizeInProgress") == "True Error"
    assert condition(before, "PodResizePending") == "True Deferred"
    await node.restart()
    await node.pass_time(30)
    after = await node.get("a-grows")
    assert condition(after, "PodResizeInProgress") == "True Error"
    assert condition(after, "PodResizePending") == "True Deferred"
    assert await allocated_cpu(node, "a-grows") == "1"


async def test_deferred_resize_of_the_whole_pod_stays_deferred(node: SimNode) -> None:
    """``TestAllocationManagerAddPodWithPLR``: a pod is admitted with what it was granted as a whole."""

    def whole(cpu: str) -> dict[str, Any]:
        amounts = {"cpu": cpu, "memory": "1Gi"}
        return {"requests": amounts, "limits": amounts}

    await node.create(pod("holds", containers=sized("2")))
    await node.create(pod("a-grows", resources=whole("1")))
    await node.pass_time(5)
    change = {"spec": {"resources": whole("3")}}
    kind = PatchType.STRATEGIC
    await node.client.patch(Pod, "a-grows", change, "default", patch_type=kind, subresource="resize")
    await node.pass_time(1)
    before = await node.get("a-grows")
    assert condition(before, "PodResizePending") == "True Deferred"
    assert before.status.allocated_resources["cpu"] == "1"
    await node.restart()
    await node.pass_time(30)
    assert (await node.get("a-grows")).status == before.status


async def test_crash_looping_container_keeps_what_was_granted(node: SimNode) -> None:
    await node.create(pod("a-grows", containers=sized("1"), script={"runs": [{"seconds": 1, "exitCode": 1}]}))
    await node.create(pod("holds", containers=sized("3")))
    await node.pass_time(60)
    await resize(node, "a-grows", "3")
    await node.pass_time(1)
    (status,) = (await node.get("a-grows")).status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CrashLoopBackOff"
    assert status.allocated_resources["cpu"] == "1"
    assert status.resources is not None
    assert status.resources.limits["cpu"] == "1"
    await node.restart()
    await node.pass_time(1)
    found = await node.get("a-grows")
    assert condition(found, "PodResizePending") == "True Deferred"
    assert await allocated_cpu(node, "a-grows") == "1"


async def test_container_behind_init_containers_keeps_what_was_granted(node: SimNode) -> None:
    first = [{"name": "first", "image": "app:1"}]
    await node.create(pod("a-grows", containers=sized("1"), initContainers=first))
    await node.create(pod("holds", containers=sized("3")))
    await node.pass_time(5)
    await resize(node, "a-grows", "3")
    await node.pass_time(1)
    found = await node.get("a-grows")
    (status,) = found.status.container_statuses
    assert (condition(found, "PodResizePending"), status.state.running) == ("True Deferred", None)
    assert status.allocated_resources["cpu"] == "1"
    await node.restart()
    await node.pass_time(30)
    found = await node.get("a-grows")
    assert condition(found, "PodResizePending") == "True Deferred"
    assert await allocated_cpu(node, "a-grows") == "1"


async def test_static_pods_are_counted_before_a_deferred_resize(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """A new kubelet reads them from files, maybe later than it lists the pods of the API."""
    files = tmp_path / "manifests"
    files.mkdir()
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "holds"},
        "spec": {"containers": sized("3")},
    }
    (files / "holds.yaml").write_text(json.dumps(manifest))
    capacity = {"cpu": "4", "memory": "8Gi"}
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), write_files=False, capacity=capacity, static_pod_path=files
    )
    async with sim_node(cluster, tmp_path, config=config) as node:
        await node.pass_time(5)
        await node.create(pod("grows", containers=sized("1")))
        await node.pass_time(5)
        await resize(node, "grows", "3")
        await node.pass_time(1)
        before = await node.get("grows")
        assert condition(before, "PodResizePending") == "True Deferred"
        await node.restart()
        await node.pass_time(30)
        assert (await node.get("grows")).status == before.status
        (files / "holds.yaml").unlink()
        await node.restart()
        await node.pass_time(60)
        assert await allocated_cpu(node, "grows") == "3"
