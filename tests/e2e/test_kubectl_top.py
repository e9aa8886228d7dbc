"""``kubectl top`` on every runtime."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.clusters import RealCluster, running_cluster

USAGE = '{"usage": [{"cpuMillicores": 250, "memoryBytes": 52428800}]}'
SPIN = ["sh", "-c", "while :; do :; done"]


@pytest.fixture(scope="module")
def process_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with running_cluster(tmp_path_factory.mktemp("top"), "process") as running:
        yield running


@pytest.mark.e2e
@pytest.mark.parametrize("fixture", ["sim_cluster", "process_cluster", "cluster"])
def test_top_shows_busy_pods_and_nodes(fixture: str, request: pytest.FixtureRequest) -> None:
    running: RealCluster = request.getfixturevalue(fixture)
    metadata = {
        "name": "busy",
        "labels": {"app": "busy"},
        "annotations": {"sim.podling.dev/spin": USAGE},
    }
    containers = [
        {"name": "spin", "image": "podling.local/host", "command": SPIN},
        {"name": "wait", "image": "podling.local/host", "command": ["sleep", "3600"]},
    ]
    spec = {"containers": containers, "terminationGracePeriodSeconds": 0}
    running.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    try:
        running.wait_ready("busy")
        running.kubectl("wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io")
        heads, *rows = running.kubectl("top", "pod", "-l", "app=busy").splitlines()
        assert heads.split() == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
        ((name, cpu, _memory),) = [row.split() for row in rows]
        assert name == "busy"
        assert 20 < int(cpu.removesuffix("m")) < 2000
        by_use = running.kubectl("top", "pod", "busy", "--containers", "--sort-by=cpu", "--no-headers")
        assert [row.split()[1] for row in by_use.splitlines()] == ["spin", "wait"]
        everywhere = running.kubectl("top", "pod", "-A", "--sum=true", "--sort-by=memory")
        assert re.search(r"^default +busy +\d+m +\d+Mi", everywhere, re.MULTILINE)
        (row,) = running.kubectl("top", "node", "--no-headers").splitlines()
        assert re.fullmatch(r"\S+ +\d+m +\d+% +\d+Mi +\d+% *", row)
        done = running.try_kubectl("top", "pod", "none-such")
        assert done.err.strip() == 'Error from server (NotFound): pods "none-such" not found'
    finally:
        running.kubectl("delete", "pod", "busy", "--now", "--wait")
