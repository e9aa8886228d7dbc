"""Limits of local ephemeral storage: as a table, and on a node with real files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.eviction.local_storage import StorageMeters, StorageUse, excess, is_limited
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, condition, pod, sim_node

MI = 1 << 20


def subject(*limits: str, size: str = "", medium: str = "") -> Pod:
    """Return a pod with a container for each limit, and an ``emptyDir``."""
    containers = [
        {"name": f"c{n}", "resources": {"limits": {"ephemeral-storage": limit} if limit else {}}}
        for n, limit in enumerate(limits)
    ]
    scratch: dict[str, Any] = {"sizeLimit": size} if size else {}
    if medium:
        scratch["medium"] = medium
    spec = {"containers": containers, "volumes": [{"name": "scratch", "emptyDir": scratch}]}
    return msgspec.convert({"spec": spec}, Pod)


@pytest.mark.parametrize(
    ("limited", "use", "text"),
    [
        (subject("1Mi"), StorageUse({"c0": MI}), ""),
        (subject("1Mi", ""), StorageUse({"c0": MI + 1}), "Pod ephemeral local storage usage exceeds"),
        (
            subject("1Mi", "9Mi"),
            StorageUse({"c0": MI + 1}),
            'Container c0 exceeded its local ephemeral storage limit "1Mi". ',
        ),
        (
            subject("1Mi"),
            StorageUse({"c0": 0}, {"scratch": 2 * MI}),
            "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ",
        ),
        (subject("", size="1Mi"), StorageUse({}, {"scratch": MI}), ""),
        (
            subject("1Mi", "1Mi"),
            StorageUse({"c0": MI}, managed=MI + 1),
            "Pod ephemeral local storage usage exceeds",
        ),
        (
            subject("", size="1Mi"),
            StorageUse({}, {"scratch": MI + 1}),
            'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
        ),
        (subject("", size="1Mi", medium="Memory"), StorageUse({}, {"scratch": 9 * MI}), ""),
        (subject(""), StorageUse({"c0": 99 * MI}, {"scratch": 99 * MI}), ""),
    ],
)
def test_excess_names_the_violated_limit(limited: Pod, use: StorageUse, text: str) -> None:
    found = excess(limited, use)
    assert (found.message if found is not None else "").startswith(text)
    assert (found is not None) == bool(text)


@pytest.mark.parametrize(
    ("which", "limited"),
    [
        (subject(""), False),
        (subject("1Mi"), True),
        (subject("", size="1Mi"), True),
        (subject("", size="1Mi", medium="Memory"), False),
    ],
)
def test_only_limited_pods_are_measured(which: Pod, limited: bool) -> None:
    assert is_limited(which) == limited


def test_meter_adds_up_a_tree(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"x" * 8192)
    (tmp_path / "link").symlink_to("deep/file")
    meters = StorageMeters()
    directory = (tmp_path / "deep").stat().st_blocks * 512
    assert meters.size(tmp_path) == (8192 + directory, 3)
    assert meters.size(tmp_path / "absent") == (0, 0)


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(node_addresses=("192.168.0.10",), resolv_conf=None)
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found


async def test_pod_that_fills_its_empty_dir_is_evicted(node: SimNode) -> None:
    mount = {"name": "scratch", "mountPath": "/scratch"}
    containers = [{"name": "app", "image": "app:1", "volumeMounts": [mount]}]
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "64Ki"}}]
    await node.create(pod(containers=containers, volumes=volumes))
    await node.pass_time(15)
    found = await node.get()
    assert found.status.phase == "Running"
    scratch = (
        node.deps.root_dir / "pods" / (found.metadata.uid or "") / "volumes/kubernetes.io~empty-dir/scratch"
    )
    (scratch / "much").write_bytes(b"x" * 100_000)
    await node.pass_time(15)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    assert found.status.message == 'Usage of EmptyDir volume "scratch" exceeds the limit "64Ki". '
    assert condition(found, "DisruptionTarget") == "absent"


async def test_pod_is_evicted_although_another_hides_in_long_names(node: SimNode) -> None:
    mount = {"name": "scratch", "mountPath": "/scratch"}
    containers = [{"name": "app", "image": "app:1", "volumeMounts": [mount]}]
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "200Ki"}}]
    for name in ("a-hides", "b-fills"):
        await node.create(pod(name, containers=containers, volumes=volumes))
    await node.pass_time(5)
    for name in ("a-hides", "b-fills"):
        uid = (await node.get(name)).metadata.uid or ""
        here = os.open(node.deps.root_dir / "pods" / uid / "volumes/kubernetes.io~empty-dir/scratch", 0)
        for _ in range(19 if name == "a-hides" else 0):
            os.mkdir("d" * 200, dir_fd=here)
            here = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        size = 10 if name == "a-hides" else 400_000
        os.write(os.open("f" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=here), b"x" * size)
    await node.pass_time(15)
    assert (await node.get("b-fills")).status.reason == "Evicted"
