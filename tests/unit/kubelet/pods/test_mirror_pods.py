"""Mirror pods of static pods on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from podling.api.core_v1 import Pod
from podling.client.base import PatchType
from podling.kubelet.config import KubeletConfig
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

MANIFEST = """
apiVersion: v1
kind: Pod
metadata:
  name: proxy
  labels: {tier: node}
spec:
  containers:
  - name: app
    image: IMAGE
"""
STUBBORN = """
apiVersion: v1
kind: Pod
metadata:
  name: proxy
  annotations:
    sim.podling.dev/app: '{"ignoresSignals": true}'
spec:
  terminationGracePeriodSeconds: 15
  containers:
  - name: app
    image: IMAGE
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    directory = tmp_path / "manifests"
    directory.mkdir()
    return directory


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path, files: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=False, static_pod_path=files)
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found


def write(files: Path, image: str = "proxy:1", name: str = "proxy.yaml") -> None:
    (files / name).write_text(MANIFEST.replace("IMAGE", image))


async def test_deleted_mirror_is_created_again(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    before = await node.get("proxy-node-1")
    await node.delete("proxy-node-1", grace_seconds=0)
    await node.pass_time(5)
    after = await node.get("proxy-node-1")
    assert after.metadata.uid != before.metadata.uid
    assert after.status.phase == "Running"
    assert after.status.container_statuses[0].container_id == before.status.container_statuses[0].container_id


async def test_changes_of_a_mirror_pod_do_not_reach_the_static_pod(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    before = await node.runtime.list_containers()
    change = {
        "metadata": {"labels": {"tier": "other"}},
        "spec": {"containers": [{"name": "app", "image": "proxy:2"}], "activeDeadlineSeconds": 10},
    }
    await node.client.patch(Pod, "proxy-node-1", change, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(60)
    assert await node.runtime.list_containers() == before
    assert before[0].image == "proxy:1"
    assert (await node.get("proxy-node-1")).status.phase == "Running"


async def test_mirror_outlasts_its_static_pod(node: SimNode, files: Path) -> None:
    (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", "proxy:1"))
    await node.pass_time(5)
    (files / "proxy.yaml").unlink()
    await node.pass_time(10)
    assert (await node.get("proxy-node-1")).metadata.deletion_timestamp is None
    await node.pass_time(15)
    assert not await node.exists("proxy-node-1")


async def test_mirror_survives_a_restart_of_the_kubelet(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    before = await node.get("proxy-node-1")
    await node.restart()
    await node.pass_time(10)
    assert (await node.get("proxy-node-1")).metadata.uid == before.metadata.uid


def false_mirror(name: str, hash_: str) -> Pod:
    made = pod(name)
    annotations = {"kubernetes.io/config.mirror": hash_}
    return structs.replace(made, metadata=structs.replace(made.metadata, annotations=annotations))


@pytest.mark.parametrize("static", [True, False])
async def test_mirror_that_a_user_creates_is_deleted(
    cluster: ControlPlane, tmp_path: Path, files: Path, static: bool
) -> None:
    path = files if static else None
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=False, static_pod_path=path)
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        await node.create(false_mirror("false", "hash"))
        await node.pass_time(3)
        assert not await node.exists("false")
        assert await node.runtime.list_sandboxes() == ()


async def test_false_mirror_does_not_take_the_status_of_another_pod(node: SimNode) -> None:
    script = {"runs": [{"seconds": 30, "exitCode": 3}]}
    await node.create(pod(script=script, restartPolicy="Never"))
    await node.pass_time(5)
    victim = await node.get()
    assert victim.status.phase == "Running"
    for _ in range(10):
        await node.create(false_mirror("false", victim.metadata.uid or ""))
        await node.pass_time(3)
    await node.pass_time(5)
    assert (await node.get()).status.phase == "Failed"
