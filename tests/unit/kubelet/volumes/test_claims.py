"""Volumes behind claims: checked without blocking the kubelet."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from podling.api.core_v1 import Event, PersistentVolume, PersistentVolumeClaim
from podling.kubelet.config import KubeletConfig
from podling.kubelet.volumes import claims
from podling.testing import ControlPlane
from tests.support.kubelet_node import pod, sim_node


async def test_pod_waits_for_its_claim_and_starts_soon_after_it_is_bound(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """A pod that no scheduler has held back. What it waits for is an event when it begins or changes, and
    then with each of upstream's tries."""
    path = {"hostPath": {"path": "/data"}, "storageClassName": "manual"}
    modes = {"accessModes": ["ReadWriteOnce"]}
    size = {"storage": "1Gi"}
    volume = {"metadata": {"name": "data"}, "spec": {**path, **modes, "capacity": size}}
    wanted = {**modes, "storageClassName": "manual", "volumeName": "data", "resources": {"requests": size}}
    claim = {"metadata": {"name": "data", "namespace": "default"}, "spec": wanted}
    head = (
        "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], "
        "failed to process volumes=[data]: error processing PVC default/data: "
    )
    async with sim_node(cluster, tmp_path) as node:
        mount = {"name": "data", "mountPath": "/data"}
        container = {"name": "app", "image": "app:1", "volumeMounts": [mount]}
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        await node.create(pod(containers=[container], volumes=volumes))
        await node.pass_time(300)
        missing = 'failed to fetch PVC from API server: persistentvolumeclaims "data" not found'
        assert [text for text in await node.events() if "FailedMount" in text] == [head + missing]
        events = (await node.client.list(Event, "default")).items
        (event,) = [each for each in events if each.reason == "FailedMount"]
        assert 300 / 16 <= (event.count or 0) <= 300 / 10, "an event each 10 to 15 s"
        await node.client.create(msgspec.convert(volume, PersistentVolume))
        created = await node.client.create(msgspec.convert(claim, PersistentVolumeClaim))
        await node.pass_time(2)
        assert head + "PVC is not bound" in await node.events()
        assert (await node.get()).status.phase == "Pending"
        bound = msgspec.structs.replace(created.status, phase="Bound")
        await node.client.update(msgspec.structs.replace(created, status=bound), subresource="status")
        await node.pass_time(1.5)
        assert (await node.get()).status.phase == "Running"


@pytest.mark.asyncio(loop_factories=["real"])
async def test_files_of_a_claim_are_given_to_a_group_in_a_thread(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume may hold millions of files, and the node's heartbeat must not wait for them."""
    (tmp_path / "data").mkdir()
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "manual",
        "local": {"path": str(tmp_path / "data")},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}
                ]
            }
        },
        "claimRef": {"namespace": "default", "name": "data", "kind": "PersistentVolumeClaim"},
    }
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "manual",
        "volumeName": "data",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    given: asyncio.Future[threading.Thread] = asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()

    def own(root: Path, group: int, *, only_on_mismatch: bool) -> None:
        thread = threading.current_thread()
        loop.call_soon_threadsafe(lambda: None if given.done() else given.set_result(thread))

    monkeypatch.setattr(claims, "set_ownership", own)
    config = KubeletConfig(node_addresses=("192.168.0.10",), resolv_conf=None, write_files=True)
    async with sim_node(cluster, tmp_path / "node", config=config) as node:
        volume = msgspec.convert({"metadata": {"name": "data"}, "spec": spec}, PersistentVolume)
        await node.client.create(volume)
        metadata = {"name": "data", "namespace": "default"}
        claim = msgspec.convert({"metadata": metadata, "spec": wanted}, PersistentVolumeClaim)
        created = await node.client.create(claim)
        bound = msgspec.structs.replace(
            created, status=msgspec.structs.replace(created.status, phase="Bound")
        )
        await node.client.update(bound, subresource="status")
        await node.client.create(
            pod(
                script={},
                containers=[
                    {
                        "name": "app",
                        "image": "app:1",
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }
                ],
                securityContext={"fsGroup": 1234},
                volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            )
        )
        async with asyncio.timeout(20):
            assert await given is not threading.main_thread()
