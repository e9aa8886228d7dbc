"""Static pods: manifests, and pods from files on a simulated node."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.events import EventRecorder
from podling.client.local import LocalClient
from podling.client.requests import Backend, User
from podling.kubelet.config import KubeletConfig
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.pods.static_pods import BadManifest, ManifestSource, static_pod
from podling.node.static_pods import complete_static_pod
from podling.runtime.base import ContainerState
from podling.runtime.sim import Scenario, SimRuntime
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, pod, sim_node

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


async def test_file_becomes_a_pod_with_a_mirror(node: SimNode, files: Path) -> None:
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


async def test_a_changed_file_is_a_new_pod(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    write(files, "proxy:22")
    await node.pass_time(10)
    found = await node.get("proxy-node-1")
    assert found.status.phase == "Running"
    assert found.spec.containers[0].image == "proxy:22"
    assert [c.image for c in await node.runtime.list_containers()] == ["proxy:22"]


async def test_a_pod_keeps_the_uid_of_its_manifest(node: SimNode, files: Path) -> None:
    """A changed manifest with the same UID changes the pod, instead of replacing it."""
    with_uid = MANIFEST.replace("name: proxy", "name: proxy\n  uid: proxy-1")
    (files / "proxy.yaml").write_text(with_uid.replace("IMAGE", "proxy:1"))
    await node.pass_time(5)
    (container,) = await node.runtime.list_containers()
    assert container.labels["io.kubernetes.pod.uid"] == "proxy-1"
    mirror = await node.get("proxy-node-1")
    assert mirror.metadata.annotations["kubernetes.io/config.hash"] == "proxy-1"
    assert mirror.metadata.annotations["kubernetes.io/config.mirror"] == "proxy-1"
    assert mirror.metadata.uid != "proxy-1"
    (files / "proxy.yaml").write_text(with_uid.replace("IMAGE", "proxy:22"))
    await node.pass_time(10)
    running = [c for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert [(c.image, c.labels["io.kubernetes.pod.uid"]) for c in running] == [("proxy:22", "proxy-1")]
    assert (await node.get("proxy-node-1")).metadata.uid == mirror.metadata.uid


async def test_static_pod_is_not_resized(node: SimNode, files: Path) -> None:
    def sized(cpu: str) -> str:
        plain = MANIFEST.replace("name: proxy", "name: proxy\n  uid: proxy-1").replace("IMAGE", "proxy:1")
        return plain + f"    resources: {{requests: {{cpu: {cpu}}}, limits: {{cpu: {cpu}}}}}\n"

    (files / "proxy.yaml").write_text(sized("100m"))
    await node.pass_time(5)
    (before,) = await node.runtime.list_containers()
    (files / "proxy.yaml").write_text(sized("2000m"))
    await node.pass_time(10)
    assert await node.runtime.list_containers() == (before,)
    found = (await node.get("proxy-node-1")).status
    (pending,) = (each for each in found.conditions if each.type == "PodResizePending")
    assert (pending.reason, pending.message) == (
        "Infeasible",
        "In-place resize of static-pods is not supported",
    )
    assert found.container_statuses[0].allocated_resources == {"cpu": "100m"}


async def test_a_removed_file_ends_its_pod(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    (files / "proxy.yaml").unlink()
    await node.pass_time(10)
    assert not await node.exists("proxy-node-1")
    assert await node.runtime.list_sandboxes() == ()


async def test_invalid_manifest_is_skipped(node: SimNode, files: Path) -> None:
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
        ({"kind": "Pod", "metadata": {}}, "invalid pod: name is needed for the pod"),
        ({"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 7}}, "containers"),
    ],
)
def test_invalid_manifests_are_refused(plain: object, why: str) -> None:
    with pytest.raises(BadManifest, match=why):
        static_pod(plain, ManifestSource("file", "/x.yaml"), "node-1", EPOCH, complete_static_pod)


def manifest(**spec: Any) -> dict[str, Any]:
    plain = {"containers": [{"name": "app", "image": "app:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": plain}


def volume(**source: Any) -> dict[str, Any]:
    return manifest(volumes=[{"name": "v", **source}])


def projected(**source: Any) -> dict[str, Any]:
    return volume(projected={"sources": [source]})


def env(**source: Any) -> dict[str, Any]:
    variable = {"name": "A", "valueFrom": source}
    return manifest(containers=[{"name": "app", "image": "app:1", "env": [variable]}])


KEY = {"name": "n", "key": "k"}
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


@pytest.mark.parametrize(
    ("plain", "resource"),
    [
        (manifest(serviceAccountName="s"), "serviceaccounts"),
        (manifest(imagePullSecrets=[{"name": "s"}]), "secrets"),
        (env(secretKeyRef=KEY), "secrets"),
        (volume(secret={"secretName": "s"}), "secrets"),
        (projected(secret={"name": "s"}), "secrets"),
        (volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "s"}}), "secrets"),
        (volume(azureFile={"secretName": "s", "shareName": "x"}), "secrets"),
        (env(configMapKeyRef=KEY), "configmaps"),
        (volume(configMap={"name": "c"}), "configmaps"),
        (projected(configMap={"name": "c"}), "configmaps"),
        (manifest(resourceClaims=[{"name": "c", "resourceClaimName": "c"}]), "resourceclaims"),
        (volume(csi={"driver": "d"}), "csidrivers (via CSI volumes)"),
        (volume(glusterfs={"endpoints": "e", "path": "p"}), "endpoints (via glusterFS volumes)"),
        (volume(persistentVolumeClaim={"claimName": "c"}), "persistentvolumeclaims"),
        (volume(ephemeral={"volumeClaimTemplate": CLAIM}), "persistentvolumeclaims (via ephemeral volumes)"),
        (projected(clusterTrustBundle={"name": "b", "path": "p"}), "clustertrustbundles"),
    ],
)
def test_static_pod_may_not_reference_api_objects(plain: dict[str, Any], resource: str) -> None:
    with pytest.raises(BadManifest) as error:
        static_pod(plain, ManifestSource("file", "/x.yaml"), "node-1", EPOCH, complete_static_pod)
    assert str(error.value) == f"static pods may not reference {resource}"


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (manifest(containers=[]), "spec.containers: Required value"),
        (manifest(restartPolicy="Often"), "spec.restartPolicy: Unsupported value"),
        ({**manifest(), "metadata": {"name": "x", "namespace": "A_b"}}, "metadata.namespace: Invalid value"),
        (manifest(ephemeralContainers=[{"name": "e", "image": "i"}]), "cannot be set on create"),
    ],
)
def test_static_pod_is_validated_as_the_api_would(plain: dict[str, Any], why: str) -> None:
    with pytest.raises(BadManifest, match=why):
        static_pod(plain, ManifestSource("file", "/x.yaml"), "node-1", EPOCH, complete_static_pod)


def test_static_pod_has_the_defaults_of_the_api() -> None:
    resources = {"limits": {"cpu": 1}}
    plain = manifest(containers=[{"name": "app", "image": "app", "resources": resources}])
    pod = static_pod(plain, ManifestSource("file", "/x.yaml"), "node-1", EPOCH, complete_static_pod)
    (container,) = pod.spec.containers
    assert (pod.metadata.name, pod.spec.node_name, pod.spec.enable_service_links) == (
        "x-node-1",
        "node-1",
        True,
    )
    assert container.image_pull_policy == "Always"
    assert container.resources.requests == {"cpu": "1"}
    assert [(t.operator, t.effect) for t in pod.spec.tolerations] == [("Exists", "NoExecute")]
    assert pod.metadata.annotations["kubernetes.io/config.seen"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("file", [("other", 9), (None, None)]), ("http", [(None, 5), ("other", 9)])],
)
def test_only_static_pods_of_files_tolerate_all_evicting_taints(
    kind: str, expected: list[tuple[str | None, int | None]]
) -> None:
    for_a_while = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    tolerations = [for_a_while, {**for_a_while, "key": "other", "tolerationSeconds": 9}]
    plain = manifest(tolerations=tolerations)
    pod = static_pod(plain, ManifestSource(kind, "x"), "node-1", EPOCH, complete_static_pod)
    assert [(each.key or None, each.toleration_seconds) for each in pod.spec.tolerations] == expected


class SilentBackend:
    """An API server that takes requests and answers none of them before ``answers`` is set."""

    def __init__(self, backend: Backend) -> None:
        self.answers = asyncio.Event()
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        if name == "watch":
            return method

        async def later(*args: Any) -> Any:
            await self.answers.wait()
            return await method(*args)

        return later


async def test_static_pod_runs_before_the_api_server_answers(
    cluster: ControlPlane, tmp_path: Path, files: Path
) -> None:
    write(files)
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=False, static_pod_path=files)
    runtime = SimRuntime(Scenario())
    backend = SilentBackend(cluster.backend)
    node = SimNode(cluster, runtime, config, tmp_path)
    client = LocalClient(
        cast("Backend", backend), User(f"system:node:{NODE}", ("system:nodes", "system:authenticated"))
    )
    kubelet = Kubelet(replace(node.deps, client=client, recorder=EventRecorder(client, "kubelet", NODE)))
    await runtime.start()
    task = asyncio.create_task(kubelet.run())
    await clock.sleep(5)
    (container,) = await runtime.list_containers()
    assert container.state is ContainerState.RUNNING
    runtime.end(container.id, 1)
    await clock.sleep(60)
    states = [found.state for found in await runtime.list_containers()]
    assert states.count(ContainerState.RUNNING) == 1
    assert not await node.exists("proxy-node-1")

    backend.answers.set()
    await clock.sleep(30)
    mirror = await node.get("proxy-node-1")
    assert mirror.status.phase == "Running"
    assert mirror.status.container_statuses[0].restart_count == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await runtime.close()


async def test_every_file_without_a_dot_is_a_manifest(node: SimNode, files: Path) -> None:
    write(files, name="proxy.manifest")
    (files / "directory").mkdir()
    (files / "broken.yaml").write_bytes(b"\xff\xfe\xfd")
    (files / "link.yaml").symlink_to("nowhere")
    os.mkfifo(files / "pipe.yaml")
    await node.pass_time(5)
    assert (await node.get("proxy-node-1")).status.phase == "Running"


async def test_a_path_that_is_no_directory_leaves_pods_alone(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    os.rename(files, f"{files}.aside")
    os.mkfifo(files)
    await node.pass_time(5)
    assert (await node.get("proxy-node-1")).metadata.deletion_timestamp is None
    os.unlink(files)
    await node.pass_time(40)
    assert not await node.exists("proxy-node-1")


async def test_new_version_starts_when_the_old_one_has_ended(node: SimNode, files: Path) -> None:
    (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", "proxy:1"))
    await node.pass_time(5)
    (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", "proxy:22"))
    await node.pass_time(6)
    running = [c.image for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert running == ["proxy:1"]
    await node.pass_time(20)
    running = [c.image for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert running == ["proxy:22"]


async def test_only_the_newest_of_versions_that_wait_is_started(node: SimNode, files: Path) -> None:
    """``TestStaticPodExclusion``: one that ends while it waits never starts."""
    for version in ("1", "22", "333"):
        (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", f"proxy:{version}"))
        await node.pass_time(4)
    images = set()
    for _ in range(30):
        await node.pass_time(1)
        running = [c for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
        assert len(running) <= 1
        images |= {container.image for container in running}
    assert images == {"proxy:1", "proxy:333"}
    assert (await node.get("proxy-node-1")).spec.containers[0].image == "proxy:333"


async def test_static_pod_runs_beside_a_pod_of_its_name(node: SimNode, files: Path) -> None:
    """``TestStaticPodExclusion``: the mirror has to wait for the name."""
    await node.create(pod("proxy-node-1"))
    await node.pass_time(5)
    write(files)
    await node.pass_time(10)
    assert sorted(c.image for c in await node.runtime.list_containers()) == ["app:1", "proxy:1"]
    assert (await node.get("proxy-node-1")).spec.containers[0].image == "app:1"
    await node.delete("proxy-node-1", 0)
    await node.pass_time(10)
    assert [c.image for c in await node.runtime.list_containers()] == ["proxy:1"]
    mirror = await node.get("proxy-node-1")
    assert (mirror.spec.containers[0].image, mirror.status.phase) == ("proxy:1", "Running")


async def test_removed_and_restored_manifest_runs_again(node: SimNode, files: Path) -> None:
    (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", "proxy:1"))
    await node.pass_time(5)
    (files / "proxy.yaml").unlink()
    await node.pass_time(3)
    (files / "proxy.yaml").write_text(STUBBORN.replace("IMAGE", "proxy:1"))
    await node.pass_time(30)
    running = [c.image for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert running == ["proxy:1"]
    assert (await node.get("proxy-node-1")).status.phase == "Running"
    assert node.kubelet.pod_view.metrics.restarted_pods == {True: 1}


async def test_second_file_with_the_same_name_is_left_out(node: SimNode, files: Path) -> None:
    write(files)
    write(files, "proxy:22", "proxy.yaml.bak")
    await node.pass_time(10)
    assert [c.image for c in await node.runtime.list_containers()] == ["proxy:1"]


async def test_containers_of_static_pods_are_restarted(node: SimNode, files: Path) -> None:
    write(files)
    await node.pass_time(5)
    (container,) = await node.runtime.list_containers()
    node.runtime.end(container.id, 1)
    await node.pass_time(5)
    found = await node.get("proxy-node-1")
    assert found.status.phase == "Running"
    assert found.status.container_statuses[0].restart_count == 1
