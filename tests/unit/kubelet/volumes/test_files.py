"""Volumes of ConfigMaps and Secrets follow their sources, however busy their pod is."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.kubelet.volumes.mounting import unmount
from podling.runtime.base import Sandbox
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

SYNC_PERIOD = 90
METADATA = ObjectMeta(name="settings", namespace="default")
VOLUMES = [
    {"name": "config-map", "configMap": {"name": "settings"}},
    {"name": "secret", "secret": {"secretName": "settings"}},
    {
        "name": "projected",
        "projected": {"sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "settings"}}]},
    },
]


class SlowRuntime(SimRuntime):
    """A runtime that is slow to list sandboxes, so that workers' passes take time."""

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        await clock.sleep(0.7)
        return await super().list_sandboxes(pod_uid=pod_uid)


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(node_addresses=("192.168.0.10",), resolv_conf=None, write_files=True)
    async with sim_node(cluster, tmp_path, config=config, runtime=SlowRuntime()) as found:
        await found.client.create(ConfigMap(metadata=METADATA, data={"key": "0"}))
        await found.client.create(Secret(metadata=METADATA, data={"password": encoded("0")}))
        yield found
    unmount_all(tmp_path)


def unmount_all(root: Path) -> None:
    for path in list(root.glob("pods/*/volumes/*/*")):
        unmount(path)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def container(name: str, **more: Any) -> dict[str, Any]:
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in VOLUMES]
    return {"name": name, "image": "app:1", "volumeMounts": mounts, **more}


def quiet() -> Pod:
    return pod(containers=[container("app")], volumes=VOLUMES)


def beside_a_crashing_container() -> Pod:
    containers = [container("app"), {"name": "crashing", "image": "app:1"}]
    return pod(containers=containers, volumes=VOLUMES, scripts={"crashing": {"runs": [{"exitCode": 1}]}})


def with_a_fickle_probe() -> Pod:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1}
    answers = [{"after": float(second), "success": second % 2 == 0} for second in range(2000)]
    spec = pod(containers=[container("app", readinessProbe=probe)], volumes=VOLUMES)
    annotations = {"sim.podling.dev/app": json.dumps({"probes": answers})}
    return structs.replace(spec, metadata=structs.replace(spec.metadata, annotations=annotations))


async def change(node: SimNode, text: str) -> None:
    config_map = await node.client.get(ConfigMap, "settings", "default")
    await node.client.update(structs.replace(config_map, data={"key": text}))
    secret = await node.client.get(Secret, "settings", "default")
    await node.client.update(structs.replace(secret, data={"password": encoded(text)}))


async def shown(node: SimNode) -> set[str]:
    uid = (await node.get()).metadata.uid or ""
    volumes = node.deps.root_dir / "pods" / uid / "volumes"
    return {path.read_text() for path in list(volumes.glob("*/*/*")) if path.name in ("key", "password")}


@pytest.mark.parametrize("make", [quiet, beside_a_crashing_container, with_a_fickle_probe])
async def test_changed_sources_show_within_the_sync_period(node: SimNode, make: Any) -> None:
    await node.create(make())
    await node.pass_time(20)
    assert await shown(node) == {"0"}
    for round_ in range(1, 6):
        await change(node, str(round_))
        await node.pass_time(SYNC_PERIOD + 5)
        assert await shown(node) == {str(round_)}


async def test_changed_sources_show_at_once_after_a_restart(node: SimNode) -> None:
    await node.create(quiet())
    await node.pass_time(20)
    await node.stop()
    await change(node, "1")
    await node.restart()
    await node.pass_time(5)
    assert await shown(node) == {"1"}


async def test_missing_source_is_looked_for_again_soon(node: SimNode) -> None:
    await node.create(quiet())
    await node.pass_time(20)
    await node.client.delete(ConfigMap, "settings", "default")
    await node.pass_time(SYNC_PERIOD + 5)
    assert any(recorded.startswith("FailedMount") for recorded in await node.events())
    assert await shown(node) == {"0"}, "what was shown stays"
    await node.client.create(ConfigMap(metadata=METADATA, data={"key": "1"}))
    await node.pass_time(SYNC_PERIOD)
    assert "1" in await shown(node)
