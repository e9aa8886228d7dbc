"""The workers of a node: sources of pods, and changes that concern a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from podling.kubelet.config import KubeletConfig
from podling.machinery.pods import is_critical
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
