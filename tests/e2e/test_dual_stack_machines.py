"""Two machines in one cluster with two families: pods and Services reach each other in both."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.joined_nodes import cluster_on, joined
from tests.support.machines import Machine, MachineCluster, machines, missing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

PODS, SERVICES = "10.86.0.0/16,fd00:86::/48", "10.97.0.0/16,fd00:97::/112"
RANGES = ("--cluster-cidr", PODS, "--service-cluster-ip-range", SERVICES)
WEB = "mkdir /w; hostname > /w/index.html; exec busybox httpd -f -p 80 -h /w"


class Dual(NamedTuple):
    """The cluster, and the machine of its second node."""

    cluster: MachineCluster
    other: Machine


@pytest.fixture(scope="module")
def dual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dual]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with (
        machines(2, tmp_path_factory.mktemp("dual")) as built,
        cluster_on(built[0], "oci", *RANGES) as cluster,
        joined(cluster, "oci", built[1]),
    ):
        for machine in built:
            pod = shell_pod(machine.name, WEB, nodeName=machine.name, container={
                "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1}})  # fmt: skip
            pod["metadata"]["labels"] = {"app": machine.name}
            cluster.apply(pod)
        for machine in built:
            cluster.wait_ready(machine.name)
        yield Dual(cluster, built[1])


def addresses(cluster: MachineCluster, pod: str, field: str = "podIPs") -> list[str]:
    return [each["ip"] for each in cluster.get("pod", pod)["status"][field]]


def url(address: str, port: int = 80) -> str:
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


def fetched(cluster: MachineCluster, pod: str, address: str, port: int = 80) -> str:
    """Return a web server's answer to a pod, once it answers."""
    script = f"until timeout 2 busybox wget -qO- {url(address, port)} 2>/dev/null; do sleep 0.1; done"
    return cluster.kubectl("exec", pod, "--", "timeout", "30", "sh", "-c", script).strip()


def test_nodes_have_blocks_and_addresses_of_both_families(dual: Dual) -> None:
    nodes: list[dict[str, Any]] = dual.cluster.get("nodes")["items"]
    blocks = [ip_network(block) for node in nodes for block in node["spec"]["podCIDRs"]]
    assert len(set(blocks)) == 4
    for node, machine in zip(nodes, (dual.cluster.machine, dual.other), strict=True):
        internal = [each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"]
        assert internal == [str(machine.address), str(machine.address6)]
        pods = [ip_address(each) for each in addresses(dual.cluster, machine.name)]
        own = [ip_network(block) for block in node["spec"]["podCIDRs"]]
        assert [address in block for address, block in zip(pods, own, strict=True)] == [True, True]


def test_pods_of_different_machines_reach_each_other_in_both_families(dual: Dual) -> None:
    names = (dual.cluster.machine.name, dual.other.name)
    for client, server in (names, names[::-1]):
        for address in addresses(dual.cluster, server):
            assert fetched(dual.cluster, client, address) == server


def test_service_leads_to_the_other_machine_in_both_families(dual: Dual) -> None:
    server, client = dual.other.name, dual.cluster.machine
    spec = {
        "type": "NodePort",
        "ipFamilyPolicy": "RequireDualStack",
        "selector": {"app": server},
        "ports": [{"port": 80}],
    }
    dual.cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "far"}, "spec": spec})
    found = dual.cluster.get("service", "far")["spec"]
    port = found["ports"][0]["nodePort"]
    for address in found["clusterIPs"]:
        assert fetched(dual.cluster, client.name, address) == server
        assert fetched(dual.cluster, server, address) == server, "from the pod to itself"
    for address in (client.address, client.address6):
        shown = dual.other.run("curl", "--silent", "--max-time", "10", url(str(address), port))
        assert shown.strip() == server, "from outside by the node port of the other machine"


def test_pods_leave_the_cluster_with_the_address_of_their_machine(dual: Dual) -> None:
    """The first machine's own server sees the second machine, and not its pod."""
    first, client = dual.cluster.machine, dual.other
    script = (
        "import socket,sys\n"
        "s=socket.create_server((sys.argv[1],8099),family=socket.AF_INET6)\n"
        "s.settimeout(60)\nc,p=s.accept()\nprint(p[0])\n"
    )
    server = subprocess.Popen(
        first.command(sys.executable, "-c", script, str(first.address6)), stdout=subprocess.PIPE, text=True
    )
    try:
        ask = f"until busybox nc {first.address6} 8099 </dev/null; do sleep 0.1; done"
        dual.cluster.kubectl("exec", client.name, "--", "timeout", "30", "sh", "-c", ask)
        said, _ = server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert said.strip() == str(client.address6)
