"""Stories of static pods: run from files, shown in the API, beyond the API's reach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.static_pods import BadManifest, static_pod
from podling.runtime.sim import Scenario
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, sim_node

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


async def test_a_file_becomes_a_pod_that_the_api_shows(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    found = await node.get("proxy-node-1")
    assert found.status.phase == "Running"
    assert found.metadata.labels == {"tier": "node"}
    assert found.metadata.owner_references[0].kind == "Node"
    (container,) = await node.runtime.list_containers()
    uid = container.labels["io.kubernetes.pod.uid"]
    assert found.metadata.annotations["kubernetes.io/config.mirror"] == uid
    assert found.metadata.uid != uid


async def test_a_deleted_picture_comes_back(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    before = await node.get("proxy-node-1")
    await node.delete("proxy-node-1", grace_seconds=0)
    await node.pass_time(5)
    after = await node.get("proxy-node-1")
    assert after.metadata.uid != before.metadata.uid
    assert after.status.phase == "Running"
    assert after.status.container_statuses[0].container_id == before.status.container_statuses[0].container_id


async def test_a_changed_file_is_a_new_pod(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    write(files, "proxy:22")
    await node.pass_time(10)
    found = await node.get("proxy-node-1")
    assert found.status.phase == "Running"
    assert found.spec.containers[0].image == "proxy:22"
    assert [c.image for c in await node.runtime.list_containers()] == ["proxy:22"]


async def test_a_removed_file_ends_its_pod(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    (files / "proxy.yaml").unlink()
    await node.pass_time(10)
    assert not await node.exists("proxy-node-1")
    assert await node.runtime.list_sandboxes() == ()


async def test_nonsense_is_left_out(node: SimNode, files: Path) -> None:
    (files / "broken.yaml").write_text("kind: [Pod")
    (files / ".hidden.yaml").write_text(MANIFEST)
    (files / "notes.txt").write_text("not a manifest")
    write(files)
    await node.pass_time(5)
    names = [pod.metadata.name for pod in (await node.client.list(Pod, "default")).items]
    assert names == ["proxy-node-1"]


async def test_a_restart_of_the_kubelet_leaves_it_running(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    before = await node.runtime.list_containers()
    await node.restart()
    await node.pass_time(10)
    assert await node.runtime.list_containers() == before


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        ([], "not a Pod"),
        ({"kind": "Service"}, "not a Pod"),
        ({"kind": "Pod", "metadata": {"name": "x"}}, "required"),
        ({"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 7}}, "containers"),
    ],
)
def test_what_is_no_pod(plain: object, why: str) -> None:
    with pytest.raises(BadManifest, match=why):
        static_pod(plain, "/x.yaml", "node-1", EPOCH)


async def test_its_containers_are_restarted_as_any_others(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    (container,) = await node.runtime.list_containers()
    node.runtime.end(container.id, 1)
    await node.pass_time(5)
    found = await node.get("proxy-node-1")
    assert found.status.phase == "Running"
    assert found.status.container_statuses[0].restart_count == 1
