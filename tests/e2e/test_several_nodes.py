"""Several nodes in one process, on real containers: spread, and within reach of each other."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, command, shell_pod

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


def test_service_proxy_of_each_node_shows_health_and_figures(three: RealCluster) -> None:
    """One node may have kube-proxy's own ports, the others have free ones. A doomed node is no target."""
    nodes = [node["metadata"]["name"] for node in three.get("nodes")["items"]]
    soon(lambda: health_codes(three) == Counter({200: len(nodes)}))
    ports = [{"port": 80, "targetPort": 8080}]
    spec = {"selector": {"app": "counted"}, "ports": ports}
    three.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "counted"}, "spec": spec})
    pod = shell_pod("counted", SERVE)
    pod["metadata"]["labels"] = {"app": "counted"}
    three.apply(pod)
    three.wait_ready("counted")
    name = "kubeproxy_network_programming_duration_seconds_count"
    soon(lambda: len([page for page in pages(three, "/metrics") if counted(page, name)]) == len(nodes))
    three.kubectl("taint", "node", nodes[1], "ToBeDeletedByClusterAutoscaler=1:PreferNoSchedule")
    soon(lambda: health_codes(three) == Counter({200: len(nodes) - 1, 503: 1}))
    assert len([page for page in pages(three, "/livez") if "currentTime" in page]) == len(nodes)
    three.kubectl("taint", "node", nodes[1], "ToBeDeletedByClusterAutoscaler-")
    soon(lambda: health_codes(three) == Counter({200: len(nodes)}))
    assert len([page for page in pages(three, "/proxyMode") if page == "nftables"]) == len(nodes)
    three.kubectl("delete", "pod/counted", "service/counted")


def soon(is_so: Callable[[], bool]) -> None:
    deadline = clock.monotonic() + 10
    while not is_so():
        assert clock.monotonic() < deadline


def health_codes(cluster: RealCluster) -> Counter[int]:
    return Counter(code for code, page in answers(cluster, "/healthz") if "nodeEligible" in page)


def pages(cluster: RealCluster, path: str) -> list[str]:
    return [page for code, page in answers(cluster, path) if code == 200]


def counted(page: str, name: str) -> bool:
    """Return whether a page of figures has a sample of this name above zero."""
    return any(line.startswith(name) and float(line.split()[-1]) > 0 for line in page.splitlines())


def answers(cluster: RealCluster, path: str) -> list[tuple[int, str]]:
    """Return what each plain HTTP server of the cluster's process answers."""
    listening = command(["ss", "-Hltnp"]).out.splitlines()
    ports = {line.split()[3].rpartition(":")[2] for line in listening if f"pid={cluster.process}," in line}
    found = []
    for port in sorted(ports):
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=5)
        with closing(connection), suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            response = connection.getresponse()
            found.append((response.status, response.read().decode()))
    return found


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
