"""The workers of a node: sources of pods, and changes that concern a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from podling.kubelet.config import KubeletConfig
from podling.machinery.pods import is_critical
from podling.runtime.base import ContainerState
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.backups import bring_back, take_away
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


async def test_annotation_does_not_make_a_pod_static(node: SimNode, files: Path) -> None:
    made = pod("pretender")
    annotations = {"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "x"}
    await node.create(structs.replace(made, metadata=structs.replace(made.metadata, annotations=annotations)))
    await node.pass_time(5)
    write(files)
    await node.pass_time(10)
    assert (await node.get("pretender")).status.phase == "Running"
    (held,) = [found for found in node.kubelet.pod_view.pods() if found.metadata.name == "pretender"]
    assert not is_critical(held)


async def test_ended_pod_whose_volumes_stay_holds_no_resources(
    cluster: ControlPlane, tmp_path: Path, files: Path
) -> None:
    """A static pod's phase never says that it is over: only its worker knows."""
    resources = "\n    resources: {requests: {cpu: '3'}}\n"
    capacity = {"cpu": "4", "memory": "8Gi"}
    config = KubeletConfig(node_addresses=("192.168.0.10",), static_pod_path=files, capacity=capacity)
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        (files / "proxy.yaml").write_text(MANIFEST.rstrip().replace("IMAGE", "proxy:1") + resources)
        await node.pass_time(30)
        (sandbox,) = await node.runtime.list_sandboxes()
        (tmp_path / "pods" / sandbox.pod_uid / "volumes").mkdir(exist_ok=True)
        (tmp_path / "pods" / sandbox.pod_uid / "volumes" / "unknown").write_text("no directory of a plugin")
        (files / "proxy.yaml").unlink()
        await node.pass_time(60)
        assert (tmp_path / "pods" / sandbox.pod_uid).exists()
        big = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "3"}}}]
        await node.create(pod("next", containers=big))
        await node.pass_time(5)
        assert (await node.get("next")).status.phase == "Running"


@pytest.mark.parametrize("absent", [0, 0.5, 5])
async def test_pod_that_comes_back_with_its_uid_runs_again(node: SimNode, absent: float) -> None:
    """A store restored from a backup brings pods back, maybe while their containers still end
    (``TestUpdatePod``: a create during the termination requests a restart)."""
    before = await node.create(pod(script={"ignoresSignals": True}))
    await node.pass_time(5)
    held = await take_away(node.plane, "/pods/default/web")
    await node.pass_time(absent)
    await bring_back(node.plane, held)
    await node.pass_time(10)
    found = await node.get()
    assert (found.metadata.uid, found.status.phase) == (before.metadata.uid, "Running")
    there = await node.runtime.list_containers()
    (running,) = [each for each in there if each.state is ContainerState.RUNNING]
    assert found.status.container_statuses[0].container_id == f"sim://{running.id}"
    assert node.kubelet.pod_view.metrics.restarted_pods == ({False: 1} if absent < 1 else {})
    await node.delete()
    await node.pass_time(40)
    assert not await node.exists()
    assert await node.runtime.list_sandboxes() == ()
