"""A cluster with two families: addresses of pods, nodes and Services, also after a kill."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from podling.kubelet.node.machine import primary_address
from podling.machinery.network_ranges import route_conflict
from podling.network.routes import machine_routes
from podling.node.machine import second_address
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers()),
]

PODS, SERVICES = "10.86.0.0/16,fd00:86::/112", "10.97.0.0/16,fd00:97::/112"
SIZES = {"ipv4": 26, "ipv6": 120}
MASKS = [part for family, size in SIZES.items() for part in (f"--node-cidr-mask-size-{family}", f"{size}")]
RANGES = ("--cluster-cidr", PODS, "--service-cluster-ip-range", SERVICES)
WEB = "mkdir /w; hostname > /w/index.html; exec busybox httpd -f -p 80 -h /w"
PROBE = {"httpGet": {"port": 80}, "periodSeconds": 1}


@pytest.fixture(scope="module")
def dual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A cluster of one node with two families."""
    running = RealCluster(tmp_path_factory.mktemp("dual") / "data", "oci", "--port", "0")
    try:
        running.up(*RANGES, *MASKS)
        yield running
    finally:
        running.remove()


def web_pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"readinessProbe": PROBE, "ports": [{"containerPort": 80}], "env": [
        {"name": name.upper(), "valueFrom": {"fieldRef": {"fieldPath": f"status.{name}"}}}
        for name in ("podIP", "podIPs", "hostIPs")
    ]}  # fmt: skip
    pod = shell_pod(name, WEB, container=container, **spec)
    pod["metadata"]["labels"] = {"app": name}
    return pod


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def addresses(status: dict[str, Any], field: str) -> list[str]:
    return [each["ip"] for each in status[field]]


def are_in(found: list[str], ranges: str) -> bool:
    """Return whether addresses are in the ranges of an option, one in each, in their order."""
    networks = [ip_network(each) for each in ranges.split(",")]
    return [ip_address(each) in network for each, network in zip(found, networks, strict=True)] == [True] * 2


def test_pod_has_an_address_of_each_family_everywhere(dual: RealCluster) -> None:
    dual.apply(web_pod("both"))
    dual.wait_ready("both")
    status = dual.get("pod", "both")["status"]
    own, node = addresses(status, "podIPs"), addresses(status, "hostIPs")
    assert are_in(own, PODS)
    assert status["podIP"] == own[0]
    assert node == [primary_address(), *filter(None, [second_address()])]
    told = dual.kubectl(
        "exec", "both", "--", "sh", "-c", "echo $PODIP; echo $PODIPS; echo $HOSTIPS; cat /etc/hosts"
    )
    lines = told.splitlines()
    assert lines[:3] == [own[0], ",".join(own), ",".join(node)]
    assert lines[-2:] == [f"{each}\tboth" for each in own]
    (found,) = dual.get("nodes")["items"]
    internal = [each["address"] for each in found["status"]["addresses"] if each["type"] == "InternalIP"]
    assert internal == node
    blocks = [ip_network(each) for each in found["spec"]["podCIDRs"]]
    assert [block.prefixlen for block in blocks] == list(SIZES.values())
    assert are_in(own, ",".join(map(str, blocks)))


def test_pods_reach_each_other_in_both_families(dual: RealCluster) -> None:
    for name in ("one", "two"):
        dual.apply(web_pod(name))
    for name in ("one", "two"):
        dual.wait_ready(name)
    for address in addresses(dual.get("pod", "two")["status"], "podIPs"):
        host = f"[{address}]" if ":" in address else address
        assert dual.kubectl("exec", "one", "--", "busybox", "wget", "-qO-", f"http://{host}/") == "two\n"


def test_pod_on_the_network_of_the_node_has_its_addresses(dual: RealCluster) -> None:
    dual.apply(shell_pod("host", "exec sleep 3600", hostNetwork=True))
    dual.wait_ready("host")
    status = dual.get("pod", "host")["status"]
    assert addresses(status, "podIPs") == addresses(status, "hostIPs")


def test_service_has_addresses_slices_and_objects_of_both_families(dual: RealCluster) -> None:
    dual.apply(web_pod("served"))
    dual.apply(service("served", ipFamilyPolicy="RequireDualStack"))
    dual.wait_ready("served")
    spec = dual.get("service", "served")["spec"]
    assert are_in(spec["clusterIPs"], SERVICES)
    own = addresses(dual.get("pod", "served")["status"], "podIPs")
    slices = dual.get("endpointslices", "-l", "kubernetes.io/service-name=served")["items"]
    found = {each["addressType"]: each["endpoints"][0]["addresses"] for each in slices}
    assert found == {"IPv4": own[:1], "IPv6": own[1:]}
    for address in spec["clusterIPs"]:
        parent = dual.get("ipaddress", address)["spec"]["parentRef"]
        assert (parent["resource"], parent["name"]) == ("services", "served")


def fetched(dual: RealCluster, pod: str, address: str, port: int = 80) -> str:
    """Return a web server's answer to a pod, once it answers; ``address`` may be a name."""
    host = f"[{address}]" if ":" in address else address
    script = f"until timeout 2 busybox wget -qO- http://{host}:{port}/ 2>/dev/null; do sleep 0.1; done"
    return dual.kubectl("exec", pod, "--", "timeout", "20", "sh", "-c", script).strip()


def test_service_answers_on_addresses_and_node_ports_of_both_families(dual: RealCluster) -> None:
    for name in ("server", "client"):
        dual.apply(web_pod(name))
    dual.apply(service("server", ipFamilyPolicy="RequireDualStack", type="NodePort"))
    for name in ("server", "client"):
        dual.wait_ready(name)
    spec = dual.get("service", "server")["spec"]
    port = spec["ports"][0]["nodePort"]
    for address in spec["clusterIPs"]:
        assert fetched(dual, "client", address) == "server"
        assert fetched(dual, "server", address) == "server", "from the pod to itself"
    for address in addresses(dual.get("pod", "server")["status"], "hostIPs"):
        assert fetched(dual, "client", address, port) == "server"
        assert from_node(address, port) == "server"


def from_node(address: str, port: int) -> str:
    host = f"[{address}]" if ":" in address else address
    with urllib.request.urlopen(f"http://{host}:{port}/", timeout=10) as answer:
        return str(answer.read().decode().strip())


def test_service_of_ipv6_alone_answers(dual: RealCluster) -> None:
    dual.apply(web_pod("six"))
    dual.apply(service("six", ipFamilies=["IPv6"]))
    dual.wait_ready("six")
    (address,) = dual.get("service", "six")["spec"]["clusterIPs"]
    assert ip_address(address).version == 6
    assert fetched(dual, "six", address) == "six"


def test_upgrade_and_downgrade_reach_the_pods(dual: RealCluster) -> None:
    for name in ("changing", "asking"):
        dual.apply(web_pod(name))
    dual.apply(service("changing"))
    for name in ("changing", "asking"):
        dual.wait_ready(name)
    dual.kubectl("patch", "service", "changing", "-p", '{"spec": {"ipFamilyPolicy": "PreferDualStack"}}')
    first, second = dual.get("service", "changing")["spec"]["clusterIPs"]
    assert [fetched(dual, "asking", each) for each in (first, second)] == ["changing", "changing"]
    dual.kubectl("patch", "service", "changing", "-p", '{"spec": {"ipFamilyPolicy": "SingleStack"}}')
    assert dual.get("service", "changing")["spec"]["clusterIPs"] == [first]
    gone = f"while timeout 1 busybox wget -qO- http://[{second}]/ >/dev/null 2>&1; do sleep 0.1; done"
    dual.kubectl("exec", "asking", "--", "timeout", "20", "sh", "-c", gone)
    assert fetched(dual, "asking", first) == "changing"


def looked_up(dual: RealCluster, pod: str, kind: str, name: str) -> set[str]:
    """Return the addresses that the C library of a pod finds for a name, once it finds any."""
    script = f"until getent {kind} {name}; do sleep 0.1; done"
    lines = dual.kubectl("exec", pod, "--", "timeout", "30", "sh", "-c", script).splitlines()
    return {line.split()[0] for line in lines}


def test_names_have_addresses_of_both_families(dual: RealCluster) -> None:
    for name in ("named", "resolver"):
        dual.apply(web_pod(name))
    dual.apply(service("by-name", selector={"app": "named"}, ipFamilyPolicy="RequireDualStack"))
    headless = {"selector": {"app": "named"}, "clusterIP": "None", "ipFamilyPolicy": "RequireDualStack"}
    dual.apply(service("of-pods", **headless))
    for name in ("named", "resolver"):
        dual.wait_ready(name)
    first, second = dual.get("service", "by-name")["spec"]["clusterIPs"]
    assert looked_up(dual, "resolver", "ahostsv4", "by-name") == {first}
    assert looked_up(dual, "resolver", "ahostsv6", "by-name.default.svc.cluster.local") == {second}
    assert looked_up(dual, "resolver", "ahosts", "by-name") == {first, second}
    pods = addresses(dual.get("pod", "named")["status"], "podIPs")
    assert looked_up(dual, "resolver", "ahosts", "of-pods") == set(pods)
    assert looked_up(dual, "resolver", "hosts", second) == {second}, "the name of an address"
    assert fetched(dual, "resolver", "by-name") == "named"


def is_refused(dual: RealCluster, pod: str, address: str) -> bool:
    """Return whether a pod soon gets no answer from a web server."""
    host = f"[{address}]" if ":" in address else address
    script = f"while timeout 1 busybox wget -qO- http://{host}/ >/dev/null 2>&1; do sleep 0.1; done"
    return dual.try_kubectl("exec", pod, "--", "timeout", "20", "sh", "-c", script).code == 0


def test_network_policy_holds_in_both_families(dual: RealCluster) -> None:
    for name in ("guarded", "friend", "stranger"):
        dual.apply(web_pod(name))
    for name in ("guarded", "friend", "stranger"):
        dual.wait_ready(name)
    spec = {
        "podSelector": {"matchLabels": {"app": "guarded"}},
        "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}]}],
    }
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    dual.apply({**kind, "metadata": {"name": "guard"}, "spec": spec})
    for address in addresses(dual.get("pod", "guarded")["status"], "podIPs"):
        assert is_refused(dual, "stranger", address)
        assert fetched(dual, "friend", address) == "guarded"
    dual.kubectl("delete", "networkpolicy", "guard")


def test_killed_cluster_keeps_pods_ranges_and_addresses(tmp_path: Path) -> None:
    """Also when its parts run apart afterwards."""
    cluster = RealCluster(tmp_path / "data", "oci", "--port", "0")
    try:
        cluster.up("--cluster-cidr", "10.87.0.0/16,fd00:87::/48", "--service-cluster-ip-range", SERVICES)
        cluster.apply(web_pod("kept"))
        cluster.apply(service("kept", ipFamilyPolicy="RequireDualStack"))
        cluster.wait_ready("kept")
        before = cluster.get("pod", "kept")["status"]
        clusters = cluster.get("service", "kept")["spec"]["clusterIPs"]
        for arrangement in ("one", "several"):
            cluster.kill()
            cluster.up("--processes", arrangement)
            after = cluster.get("pod", "kept")["status"]
            assert after["podIPs"] == before["podIPs"]
            assert after["containerStatuses"][0]["restartCount"] == 0
            assert cluster.get("service", "kept")["spec"]["clusterIPs"] == clusters
            cluster.apply(service(f"later-{arrangement}", ipFamilyPolicy="RequireDualStack"))
            later = cluster.get("service", f"later-{arrangement}")["spec"]["clusterIPs"]
            assert are_in(later, SERVICES)
    finally:
        cluster.remove()
    networks = [ip_network("10.87.0.0/16"), ip_network("fd00:87::/48")]
    assert not [route for route in machine_routes() if route_conflict("", networks, [route])]


REFUSED = [
    (("--cluster-cidr", "10.86.0.0/16,10.87.0.0/16"), "both ranges are IPv4"),
    (("--service-cluster-ip-range", "10.97.0.0/16,fd00:97::/112"), "so no pod could serve there"),
    (("--cluster-cidr", "192.0.2.0/24", "--node-ip", "127.0.0.1"), "can't be loopback address"),
    (("--service-node-port-range", "0-10"), "is no range between 1 and 65535"),
    (("--node-cidr-mask-size-ipv6", "64"), "is not allowed for a single-stack IPv4 cluster"),
]


@pytest.mark.parametrize(("options", "why"), REFUSED)
def test_impossible_options_are_refused_before_anything_is_made(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    cluster = RealCluster(tmp_path / "data", "oci")
    done = cluster.podling("up", "--detach", "--runtime", "oci", "--port", "0", *options)
    assert done.code == 1
    assert why in done.err
    assert not cluster.directory.exists()
