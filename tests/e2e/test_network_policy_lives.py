"""Network policies while policies, pods, labels, nodes' processes and the kernel's tables come and go."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.policy_cluster import (
    HOST,
    OUTSIDE,
    OUTSIDE_GATEWAY,
    PolicyCluster,
    labelled,
    outside_network,
    policy,
    server_pod,
)

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

RESTORE_SECONDS = 60.0
DENY = policy("deny", policyTypes=["Ingress", "Egress"])


@pytest.fixture
def world(own_cluster: RealCluster) -> Iterator[PolicyCluster]:
    """A cluster of its own with the pods server and client in namespace x."""
    own_cluster.up()
    with outside_network() as outside:
        made = PolicyCluster(own_cluster, outside)
        for name in ("x", "y", "settled"):
            own_cluster.kubectl("create", "namespace", name)
        made.add(server_pod("server", "x"), server_pod("client", "x"))
        yield made


def is_open(world: PolicyCluster, source: str = "x/client", name: str = "x/server", port: int = 80) -> bool:
    target = f"tcp:{world.addresses[name]}:{port}"
    return target in world.reached([source], [target])[source]


def table_of(world: PolicyCluster, index: int = 0) -> str:
    return f"{Names.of(f'{DataDirectory(world.cluster.directory).id}-{index}').table}_policy"


def events(world: PolicyCluster, reason: str) -> list[str]:
    selector = f"involvedObject.kind=Node,reason={reason}"
    found = world.cluster.get("events", "-A", f"--field-selector={selector}")["items"]
    return [each["message"] for each in found]


def eventually(
    world: PolicyCluster, wanted: bool, seconds: float = RESTORE_SECONDS, source: str = "x/client"
) -> float:
    """Return the seconds until the source reaches the server, or no more."""
    began = clock.monotonic()
    while is_open(world, source) != wanted:
        assert clock.monotonic() - began < seconds
    return clock.monotonic() - began


def test_policies_apply_to_running_pods_and_end_with_their_deletion(world: PolicyCluster) -> None:
    assert is_open(world)
    with world.policies(DENY):
        assert not is_open(world)
        assert is_open(world, HOST)
        assert not is_open(world, OUTSIDE)
    world.settle()
    eventually(world, True)
    eventually(world, True, source=OUTSIDE)


def test_changed_policy_and_changed_labels_apply_to_running_pods(world: PolicyCluster) -> None:
    role = {"podSelector": labelled(role="friend")}
    rule = [{"from": [role, {"namespaceSelector": labelled(trust="yes"), "podSelector": {}}]}]
    with world.policies(policy("p", podSelector=labelled(pod="server"), ingress=rule)):
        assert not is_open(world)
        world.cluster.kubectl("label", "pod", "client", "-n", "x", "role=friend")
        eventually(world, True)
        world.cluster.kubectl("label", "pod", "client", "-n", "x", "role-")
        eventually(world, False)
        world.cluster.kubectl("label", "namespace", "x", "trust=yes")
        eventually(world, True)
        world.cluster.kubectl("label", "namespace", "x", "trust-")
        eventually(world, False)
        world.cluster.kubectl("label", "pod", "server", "-n", "x", "pod=other", "--overwrite")
        eventually(world, True)
        world.apply(policy("p", podSelector=labelled(pod="other"), ingress=rule))
        eventually(world, False)


ANSWER_LATER = """
import socket
one = socket.create_server(("", 9000)).accept()[0]
one.sendall(one.recv(9))
one.recv(9)
"""


def test_established_connections_stay_when_a_policy_comes(world: PolicyCluster) -> None:
    world.add(
        {
            **shell_pod("slow", f"exec python3 -c '{ANSWER_LATER}'"),
            "metadata": {"name": "slow", "namespace": "x", "labels": {"pod": "slow"}},
        }
    )
    for _ in range(100):
        try:
            connection = socket.create_connection((world.addresses["x/slow"], 9000), timeout=5)
            break
        except ConnectionRefusedError:
            continue
    with connection, world.policies(DENY):
        connection.sendall(b"on")
        connection.settimeout(5)
        assert connection.recv(9) == b"on"


ATTEMPTS = """
import socket, sys, time
for target in sys.argv[1:]:
    try:
        socket.create_connection((target, 80), 1).close()
        print("open", target, flush=True)
    except OSError:
        print("closed", target, flush=True)
"""


def test_pod_is_isolated_before_its_first_packet(world: PolicyCluster) -> None:
    """Policies made just before their pods: the container's first act is to connect to what is forbidden."""
    for number in range(5):
        name = f"early-{number}"
        world.apply(
            policy(f"p-{number}", podSelector=labelled(pod=name), policyTypes=["Egress"]),
            {
                **shell_pod(
                    name,
                    "true",
                    restartPolicy="Never",
                    container={"command": ["python3", "-c", ATTEMPTS, world.addresses["x/server"]]},
                ),
                "metadata": {"name": name, "namespace": "x", "labels": {"pod": name}},
            },
        )
    for number in range(5):
        name = f"early-{number}"
        world.cluster.kubectl(
            "wait", f"pod/{name}", "-n", "x", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"
        )
        assert world.cluster.kubectl("logs", name, "-n", "x").startswith("closed")


def test_new_pod_has_its_rights_from_its_first_packet(world: PolicyCluster) -> None:
    friends = [{"from": [{"podSelector": labelled(role="friend")}]}]
    with world.policies(policy("p", podSelector=labelled(pod="server"), ingress=friends)):
        pod = shell_pod(
            "friend",
            "true",
            restartPolicy="Never",
            container={"command": ["python3", "-c", ATTEMPTS, world.addresses["x/server"]]},
        )
        pod["metadata"] = {"name": "friend", "namespace": "x", "labels": {"role": "friend"}}
        world.apply(pod)
        world.cluster.kubectl(
            "wait", "pod/friend", "-n", "x", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"
        )
        assert world.cluster.kubectl("logs", "friend", "-n", "x").startswith("open")


def test_policies_outlive_the_nodes_process(world: PolicyCluster) -> None:
    with world.policies(DENY):
        world.cluster.kill()
        assert not is_open(world)
        world.cluster.up()
        assert not is_open(world)
        world.settle()
        assert not is_open(world)
        assert is_open(world, HOST)
    world.settle()
    assert is_open(world)


@pytest.mark.parametrize(
    "damage", ["delete table inet {}", "flush chain inet {} to_pods", "flush map inet {} egress_4"]
)
def test_damaged_table_is_restored_with_an_event(world: PolicyCluster, damage: str) -> None:
    with world.policies(DENY):
        assert not is_open(world)
        subprocess.run(["nft", *damage.format(table_of(world)).split()], check=True)
        began = clock.monotonic()
        while not (found := events(world, "NetworkPolicyTableRestored")):
            assert clock.monotonic() - began < RESTORE_SECONDS
        assert table_of(world) in found[0]
        assert not is_open(world)
    said = world.cluster.kubectl("describe", "node")
    assert "NetworkPolicyTableRestored" in said


def test_address_of_a_deleted_pod_leaves_the_table(world: PolicyCluster) -> None:
    friends = [{"from": [{"podSelector": labelled(role="friend")}]}]
    with world.policies(policy("p", podSelector=labelled(pod="server"), ingress=friends)):
        world.add(server_pod("friend", "x", labels={"role": "friend"}))
        assert is_open(world, "x/friend")
        old = world.addresses["x/friend"]
        world.cluster.kubectl("delete", "pod", "friend", "-n", "x")
        began = clock.monotonic()
        while old in addresses_in(table_of(world)):
            assert clock.monotonic() - began < RESTORE_SECONDS


def addresses_in(table: str) -> set[str]:
    """Return every word in a table of the kernel, its addresses among them."""
    command = ["nft", "list", "table", "inet", table]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(listed.stdout.replace(",", " ").split())


def test_host_ports_are_filtered_after_translation(world: PolicyCluster) -> None:
    with socket.create_server(("", 0)) as probe:
        port = int(probe.getsockname()[1])
    mapped = server_pod("mapped", "x")
    mapped["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": port}]
    world.add(mapped)
    target = f"tcp:{OUTSIDE_GATEWAY}:{port}"

    def reaches() -> bool:
        return target in world.reached([OUTSIDE], [target])[OUTSIDE]

    assert reaches()
    block = [{"from": [{"ipBlock": {"cidr": "198.51.100.2/32"}}], "ports": [{"port": 80}]}]
    with world.policies(policy("p", podSelector=labelled(pod="mapped"), policyTypes=["Ingress"])):
        assert not reaches()
        with world.policies(policy("q", podSelector=labelled(pod="mapped"), ingress=block)):
            assert reaches(), "the rule sees the client's address and the pod's own port"


def service(name: str, selector: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"selector": selector, "ports": [{"port": 8000, "targetPort": 80}]},
    }


def test_services_are_filtered_after_translation(world: PolicyCluster) -> None:
    world.apply(service("server", {"pod": "server"}))
    address = world.cluster.get("service", "server", "-n", "x")["spec"]["clusterIP"]
    target = f"tcp:{address}:8000"

    def reaches(source: str) -> bool:
        return target in world.reached([source], [target])[source]

    began = clock.monotonic()
    while not reaches("x/client"):
        assert clock.monotonic() - began < RESTORE_SECONDS
    only = [{"to": [{"podSelector": labelled(pod="server")}], "ports": [{"port": 80}]}]
    with world.policies(policy("p", policyTypes=["Egress"])):
        assert not reaches("x/client")
        assert reaches("x/server"), "a pod reaches itself through its Service"
        with world.policies(policy("q", policyTypes=["Egress"], egress=only)):
            assert reaches("x/client")


def test_pod_reaches_its_node_only_where_a_block_allows_it(world: PolicyCluster) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = listener.getsockname()[1]
        gateway = world.addresses["x/client"].rpartition(".")[0] + ".1"
        target = f"tcp:{gateway}:{port}"

        def reaches() -> bool:
            return target in world.reached(["x/client"], [target])["x/client"]

        assert reaches()
        with world.policies(policy("p", policyTypes=["Egress"])):
            assert not reaches()
            block = [{"to": [{"ipBlock": {"cidr": f"{gateway}/32"}}]}]
            with world.policies(policy("q", policyTypes=["Egress"], egress=block)):
                assert reaches()


@pytest.fixture
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    cluster = RealCluster(tmp_path_factory.mktemp("two"), "oci", "--port", "0", "--nodes", "2")
    try:
        cluster.up()
        with outside_network() as outside:
            made = PolicyCluster(cluster, outside)
            for name in ("x", "y", "settled"):
                cluster.kubectl("create", "namespace", name)
            nodes = [each["metadata"]["name"] for each in cluster.get("nodes")["items"]]
            for number, node in enumerate(nodes):
                made.add(
                    server_pod("abc"[number], "x", nodeSelector={"kubernetes.io/hostname": node}),
                    server_pod("abc"[number], "y", nodeSelector={"kubernetes.io/hostname": node}),
                )
            yield made
    finally:
        cluster.remove()


def test_policies_hold_between_nodes(two_nodes: PolicyCluster) -> None:
    pods = ("x/a", "x/b", "y/a", "y/b")
    everyone = (*pods, HOST, OUTSIDE)
    rule = [
        {
            "from": [
                {
                    "namespaceSelector": labelled(**{"kubernetes.io/metadata.name": "y"}),
                    "podSelector": labelled(pod="b"),
                }
            ]
        }
    ]
    out = [{"to": [{"podSelector": labelled(pod="b")}], "ports": [{"port": "serve-80-tcp"}]}]
    with two_nodes.policies(policy("p", ingress=rule)):
        eventually_checked(two_nodes, lambda source, name: name[0] != "x" or source == "y/b", everyone, pods)
    with two_nodes.policies(policy("p", podSelector=labelled(pod="a"), policyTypes=["Egress"], egress=out)):
        eventually_checked(two_nodes, lambda source, name: source != "x/a" or name == "x/b", everyone, pods)
    with two_nodes.policies(DENY):
        eventually_checked(two_nodes, lambda source, name: "x" not in (source[0], name[0]), everyone, pods)


def eventually_checked(
    world: PolicyCluster, allowed: Any, sources: tuple[str, ...], pods: tuple[str, ...]
) -> None:
    """Check the table; the node without the pod that settles may follow a moment later."""
    began = clock.monotonic()
    while True:
        try:
            world.check(allowed, sources=sources, pods=pods)
            return
        except AssertionError:
            if clock.monotonic() - began > 5:
                raise


@pytest.fixture
def both_families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    ranges = ("--cluster-cidr", "10.89.0.0/16,fd00:89::/48")
    services = ("--service-cluster-ip-range", "10.97.0.0/16,fd00:97::/112")
    cluster = RealCluster(tmp_path_factory.mktemp("both"), "oci", "--port", "0", *ranges, *services)
    try:
        cluster.up()
        made = PolicyCluster(cluster, Path("/proc/self/ns/net"))
        for name in ("x", "settled"):
            cluster.kubectl("create", "namespace", name)
        made.add(*(server_pod(name, "x") for name in "abc"))
        yield made
    finally:
        cluster.remove()


def test_policies_hold_in_both_families(both_families: PolicyCluster) -> None:
    world = both_families
    shown = {name: world.cluster.get("pod", name, "-n", "x")["status"]["podIPs"] for name in "abc"}
    second = {name: next(each["ip"] for each in ips if ":" in each["ip"]) for name, ips in shown.items()}
    first = {name: world.addresses[f"x/{name}"] for name in "abc"}

    def found(protocol: str, port: int, source: str = "x/b") -> set[str]:
        targets = [f"{protocol}:{each['a']}:{port}" for each in (first, second)]
        answered = world.reached([source], targets)[source]
        return {target.partition(":")[2].rpartition(":")[0] for target in answered}

    every = {first["a"], second["a"]}
    assert found("tcp", 80) == found("udp", 80) == found("icmp", 0) == every
    only_b = [{"from": [{"podSelector": labelled(pod="b")}], "ports": [{"port": "serve-80-tcp"}]}]
    with world.policies(policy("p", podSelector=labelled(pod="a"), ingress=only_b)):
        assert found("tcp", 80) == every
        assert found("tcp", 80, HOST) == every
        assert found("tcp", 81) == found("udp", 80) == found("icmp", 0) == set()
        assert found("tcp", 80, "x/c") == set()
    six = [{"to": [{"ipBlock": {"cidr": "::/0"}}]}]
    with world.policies(policy("p", podSelector=labelled(pod="b"), policyTypes=["Egress"], egress=six)):
        assert found("tcp", 80) == found("icmp", 0) == {second["a"]}
    hole = [{"to": [{"ipBlock": {"cidr": "::/0", "except": [f"{second['a']}/128"]}}]}]
    with world.policies(policy("p", podSelector=labelled(pod="b"), policyTypes=["Egress"], egress=hole)):
        assert found("tcp", 80) == set()


LOOK_UP = """
import socket
socket.setdefaulttimeout(3)
for name in ("kubernetes.default.svc.cluster.local",):
    try:
        print("found", socket.gethostbyname(name))
    except OSError:
        print("failed")
"""


def test_rule_for_dns_opens_names_and_nothing_else(world: PolicyCluster) -> None:
    kube_dns = {
        "namespaceSelector": labelled(**{"kubernetes.io/metadata.name": "kube-system"}),
        "podSelector": labelled(**{"k8s-app": "kube-dns"}),
    }
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    rule = [{"to": [kube_dns], "ports": ports}]

    def answer() -> str:
        command = ["exec", "client", "-n", "x", "--", "env", "RES_OPTIONS=timeout:1 attempts:1"]
        return world.cluster.kubectl(*command, "python3", "-c", LOOK_UP).split()[0]

    began = clock.monotonic()
    while answer() != "found":
        assert clock.monotonic() - began < RESTORE_SECONDS
    with world.policies(policy("p", policyTypes=["Egress"])):
        assert answer() == "failed"
        with world.policies(policy("q", policyTypes=["Egress"], egress=rule)):
            assert answer() == "found"
            assert not is_open(world)


def test_cluster_without_policies_has_no_rules_for_them(world: PolicyCluster) -> None:
    listed = subprocess.run(["nft", "-j", "list", "tables"], check=True, capture_output=True)
    names = {each["table"]["name"] for each in json.loads(listed.stdout)["nftables"] if "table" in each}
    assert table_of(world) not in names
