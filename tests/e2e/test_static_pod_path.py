"""``podling up --static-pod-path``: pods from files, in a cluster of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.node.machine import node_names
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import DEADLINE, RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    folder = tmp_path / "manifests"
    folder.mkdir()
    return folder


@pytest.fixture(params=["process", "oci"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, manifests: Path) -> Iterator[RealCluster]:
    if request.param == "oci" and (reason := missing_for_containers()):
        pytest.skip(reason)
    cluster = RealCluster(tmp_path / "cluster", request.param, "--port", "0")
    cluster.up("--nodes", "2", "--static-pod-path", str(manifests))
    yield cluster
    cluster.remove()


def test_static_pod_outlives_a_kill_and_ends_with_its_manifest(cluster: RealCluster, manifests: Path) -> None:
    (manifests / "web").write_text(json.dumps(shell_pod("web", "sleep 1000")))
    first, second = node_names(2)
    mirror = f"web-{first}"
    cluster.kubectl("wait", "--for=create", f"pod/{mirror}", f"--timeout={DEADLINE}")
    cluster.wait_ready(mirror)
    before = cluster.get("pod", mirror)
    assert before["spec"]["nodeName"] == first
    assert cluster.try_kubectl("get", "pod", f"web-{second}").code == 1

    cluster.kill()
    cluster.up()
    cluster.wait_ready(mirror)
    after = cluster.get("pod", mirror)
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]

    (manifests / "web").unlink()
    cluster.kubectl("wait", "--for=delete", f"pod/{mirror}", f"--timeout={DEADLINE}")
