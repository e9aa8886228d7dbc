"""The use of a real directory's disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from podling import clock
from podling.api.core_v1 import Pod
from podling.kubelet.kubelet_metrics import KubeletMetrics
from podling.kubelet.probes.prober import ProbeLabels
from podling.kubelet.server.disk_use import DiskMeter, file_system
from podling.runtime.base import Runtime
from podling.runtime.process import ProcessRuntime
from podling.runtime.sim import SimRuntime

POD = msgspec.convert(
    {
        "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
        "spec": {
            "containers": [{"name": "main"}],
            "volumes": [
                {"name": "scratch", "emptyDir": {}},
                {"name": "claimed", "persistentVolumeClaim": {"claimName": "mine"}},
                {"name": "own", "hostPath": {"path": "/"}},
                {"name": "device", "persistentVolumeClaim": {"claimName": "block"}},
            ],
        },
    },
    Pod,
)


class Disks:
    """A pod with volumes and a log in a directory."""

    metrics = KubeletMetrics()

    def __init__(self, root: Path, runtime: Runtime) -> None:
        self.root_dir = root
        self.runtime = runtime

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        return POD

    def pods(self) -> tuple[Pod, ...]:
        return (POD,)

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        return None

    def sandbox_id(self, pod: Pod) -> str | None:
        return None

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        return self.root_dir / "logs" / "0.log"

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return {}

    def volume_paths(self, pod: Pod) -> Mapping[str, Path]:
        names = ("scratch", "claimed", "own", "device")
        return {name: self.root_dir / name for name in names}


def write(path: Path, size: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)


@pytest.mark.asyncio(loop_factories=["real"])
async def test_volumes_and_logs_are_measured_by_their_files(tmp_path: Path) -> None:
    write(tmp_path / "scratch/a", 100_000)
    write(tmp_path / "claimed/a", 50_000)
    write(tmp_path / "own/a", 10)
    write(tmp_path / "logs/0.log", 20_000)
    write(tmp_path / "device", 5)
    source = Disks(tmp_path, ProcessRuntime(tmp_path / "runtime"))
    found = await DiskMeter().read(source)
    assert found is not None
    assert found.node.capacity_bytes == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
    volumes = {each.name: each for each in found.volumes["u1"]}
    assert set(volumes) == {"scratch", "claimed"}, "neither the node's own path nor a block device"
    assert 100_000 <= (volumes["scratch"].used_bytes or 0) < 120_000
    assert volumes["claimed"].pvc_ref is not None
    assert volumes["claimed"].pvc_ref.name == "mine"
    assert volumes["scratch"].pvc_ref is None
    assert found.scratch == {"u1": volumes["scratch"].used_bytes}
    assert 20_000 <= found.logs["u1", "main"] < 40_000


async def test_simulated_node_has_no_disks(tmp_path: Path) -> None:
    assert await DiskMeter().read(Disks(tmp_path, SimRuntime())) is None


def test_file_system_that_is_gone_is_unknown(tmp_path: Path) -> None:
    assert file_system(tmp_path / "gone", clock.now()) is None
