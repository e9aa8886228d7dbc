"""Volumes behind claims: checked without blocking the kubelet."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim
from podling.kubelet.config import KubeletConfig
from podling.kubelet.volumes import claims
from podling.testing import ControlPlane
from tests.support.kubelet_node import pod, sim_node


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
