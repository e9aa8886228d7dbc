"""Several nodes in one process, on real containers: spread, and within reach of each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

SERVE = "cd /tmp && echo from $(hostname) >index.html && exec busybox httpd -f -p 8080"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    cluster = RealCluster(tmp_path_factory.mktemp("three"), "oci", "--port", "0", "--nodes", "3")
    cluster.up()
    try:
        yield cluster
    finally:
        cluster.remove()


def test_every_node_is_ready_and_named_after_the_machine(three: RealCluster) -> None:
    nodes = three.get("nodes")["items"]
    first = nodes[0]["metadata"]["name"]
    assert [node["metadata"]["name"] for node in nodes] == [first, f"{first}-2", f"{first}-3"]
    for node in nodes:
        conditions = {item["type"]: item["status"] for item in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
    ports = {node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] for node in nodes}
    assert len(ports) == 3


def test_pods_of_different_nodes_reach_each_other_and_the_node_reaches_them(three: RealCluster) -> None:
    names = [node["metadata"]["name"] for node in three.get("nodes")["items"]]
    for index, node in enumerate(names):
        three.apply(shell_pod(f"web-{index}", SERVE, nodeSelector={"kubernetes.io/hostname": node}))
    addresses = []
    for index, node in enumerate(names):
        three.wait_ready(f"web-{index}")
        pod = three.get("pod", f"web-{index}")
        assert pod["spec"]["nodeName"] == node
        addresses.append(pod["status"]["podIP"])
    assert len({address.rpartition(".")[0] for address in addresses}) == 3, "a subnet per node"
    for index, address in enumerate(addresses):
        url = f"http://{address}:8080"
        said = three.kubectl("exec", f"web-{(index + 1) % 3}", "--", "busybox", "wget", "-qO-", url)
        assert said == f"from web-{index}\n"


def test_two_clusters_live_side_by_side(three: RealCluster, tmp_path: Path) -> None:
    other = RealCluster(tmp_path / "other", "oci", "--port", "0")
    other.up()
    try:
        manifest = shell_pod("twin", "while true; do sleep 1; done")
        for cluster in (three, other):
            cluster.apply(manifest)
            cluster.wait_ready("twin")
        assert other.down().code == 0
        assert three.kubectl("exec", "twin", "--", "echo", "still here") == "still here\n"
    finally:
        other.remove()
