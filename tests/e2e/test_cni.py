"""Pods on the network that the machine's CNI plugins make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.network.cni.plugins import find_program
from podling.runtime.base import RuntimeFailure
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.joined_nodes import JoinedMachine, cluster_on, join_arguments
from tests.support.machines import MachineCluster, machines, missing

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

SERVE = "mkdir -p /tmp/w; hostname >/tmp/w/index.html; exec busybox httpd -f -p 8080 -h /tmp/w"
BRIDGE = {
    "type": "bridge",
    "bridge": "cni0",
    "isGateway": True,
    "ipMasq": True,
    "hairpinMode": True,
    "ipam": {
        "type": "host-local",
        "dataDir": "/run/host-local",
        "ranges": [[{"subnet": "10.66.0.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    },
}
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}


def conflist(*plugins: dict[str, Any]) -> str:
    return json.dumps({"cniVersion": "1.0.0", "name": "test", "plugins": plugins})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MachineCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    try:
        find_program("bridge")
    except RuntimeFailure as failure:
        pytest.skip(str(failure))
    directory = tmp_path / "net.d"
    directory.mkdir()
    with machines(1, tmp_path) as (machine,):
        found = MachineCluster(machine, "oci", "--cni-conf-dir", str(directory))
        try:
            yield found
        finally:
            found.down()


def configure(cluster: MachineCluster, text: str) -> None:
    (cluster.directory.parent.parent / "net.d" / "10-test.conflist").write_text(text)


def fetch(cluster: MachineCluster, url: str) -> str:
    return cluster.machine.run("busybox", "wget", "-qO-", url).strip()


def test_pods_live_on_the_network_of_the_plugins(cluster: MachineCluster) -> None:
    configure(cluster, conflist(BRIDGE, PORTMAP))
    cluster.up()
    ports = [{"containerPort": 8080, "hostPort": 9090}]
    cluster.apply(shell_pod("one", SERVE, container={"ports": ports}))
    cluster.apply(shell_pod("two", SERVE))
    addresses = {}
    for name in ("one", "two"):
        cluster.wait_ready(name)
        addresses[name] = cluster.get("pod", name)["status"]["podIP"]
        assert addresses[name].startswith("10.66.0.")
    url = f"http://{addresses['one']}:8080/"
    assert cluster.kubectl("exec", "two", "--", "busybox", "wget", "-qO-", url).strip() == "one"
    assert fetch(cluster, f"http://{cluster.machine.address}:9090/") == "one"
    check_services(cluster)
    cluster.kill()
    cluster.up()
    assert cluster.get("pod", "one")["status"]["podIP"] == addresses["one"]
    assert fetch(cluster, url) == "one"
    assert held(cluster) == sorted(addresses.values())
    cluster.kubectl("delete", "pod", "one")
    assert held(cluster) == [addresses["two"]]
    assert cluster.down().code == 0
    assert held(cluster) == []
    assert "pl-" not in cluster.machine.run("ip", "link"), "there is no bridge of Podling's own"


def check_services(cluster: MachineCluster) -> None:
    """Reach a Service of pod ``one`` from its neighbour, from itself and from the machine."""
    cluster.kubectl("label", "pod", "one", "app=one")
    spec = {"type": "NodePort", "selector": {"app": "one"}, "ports": [{"port": 80, "targetPort": 8080}]}
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": spec})
    found = cluster.get("service", "one")["spec"]
    url, port = f"http://{found['clusterIP']}/", found["ports"][0]["nodePort"]
    deadline = clock.monotonic() + 10
    while cluster.machine.try_run("curl", "-s", "-m", "1", url).out.strip() != "one":
        assert clock.monotonic() < deadline
    for pod in ("one", "two"):
        assert cluster.kubectl("exec", pod, "--", "busybox", "wget", "-qO-", url).strip() == "one"
        cluster.kubectl("exec", pod, "--", "python3", "-c", CONNECT)
    assert fetch(cluster, f"http://{cluster.machine.address}:{port}/") == "one"
    assert "lastUpdated" in fetch(cluster, f"http://{cluster.machine.address}:10256/healthz")
    cluster.kubectl("delete", "service", "one")


def held(cluster: MachineCluster) -> list[str]:
    """Return the addresses that host-local has given out."""
    names = cluster.machine.run("sh", "-c", "ls /run/host-local/test").split()
    return sorted(name for name in names if name.startswith("10."))


@pytest.mark.slow
def test_node_is_not_ready_before_a_network_is_configured(cluster: MachineCluster) -> None:
    started = cluster.podling("up", "--detach", *cluster.options, "--runtime", "oci", timeout=120)
    assert started.code == 0
    ready = message(cluster)
    assert "container runtime network not ready: there is no CNI configuration in" in ready
    configure(cluster, conflist({"type": "no-such-plugin"}))
    cluster.kubectl("wait", "node/machine-1", "--timeout=30s", NOT_INSTALLED)
    configure(cluster, conflist(BRIDGE))
    cluster.kubectl("wait", "node/machine-1", "--for=condition=Ready", "--timeout=30s")
    cluster.apply(shell_pod("one", SERVE))
    cluster.wait_ready("one")


NOT_INSTALLED = (
    "--for=jsonpath={.status.conditions[?(@.type=='Ready')].message}="
    "container runtime network not ready: the CNI plugin no-such-plugin is not installed: it is not in "
    "/opt/cni/bin or /usr/lib/cni"
)


def message(cluster: MachineCluster) -> str:
    conditions = cluster.get("node", "machine-1")["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == "Ready"))


def test_failure_of_a_plugin_is_an_event_of_the_pod(cluster: MachineCluster) -> None:
    ipam = {"type": "host-local", "dataDir": "/run/host-local", "subnet": "10.66.0.0/24"}
    configure(cluster, conflist({**BRIDGE, "ipam": {**ipam, "rangeStart": "10.99.0.1"}}))
    cluster.up()
    cluster.apply(shell_pod("one", SERVE))
    ports = [{"containerPort": 8080, "hostPort": 9090}]
    cluster.apply(shell_pod("two", SERVE, container={"ports": ports}))
    for name, reason in (("one", "the CNI plugin bridge failed on ADD"), ("two", "capability portMappings")):
        selector = f"--field-selector=involvedObject.name={name},reason=FailedCreatePodSandBox"
        deadline = clock.monotonic() + 60
        while reason not in (found := cluster.kubectl("get", "event", selector)):
            assert clock.monotonic() < deadline, found


def test_joined_node_may_have_the_plugins_network_and_reaches_services(tmp_path: Path) -> None:
    if reason := missing_for_containers():
        pytest.skip(reason)
    directory = tmp_path / "net.d"
    directory.mkdir()
    (directory / "10-test.conflist").write_text(conflist(BRIDGE))
    with machines(2, tmp_path) as built, cluster_on(built[0], "oci") as control:
        node = JoinedMachine(built[1], "oci")
        try:
            refused = node.try_join(*join_arguments(control), "--cni-conf-dir", "/nowhere")
            assert "--cni-conf-dir /nowhere is no directory" in refused.err
            node.join(*join_arguments(control), "--cni-conf-dir", str(directory))
            control.apply(shell_pod("far", SERVE, nodeName=node.name))
            control.wait_ready("far")
            assert control.get("pod", "far")["status"]["podIP"].startswith("10.66.0.")
            control.kubectl("exec", "far", "--", "python3", "-c", CONNECT)
            node.kill()
            node.join()
            control.kubectl("exec", "far", "--", "python3", "-c", CONNECT)
        finally:
            node.podling("down", "--grace", "1")
        assert "podling" not in built[1].run("nft", "list", "tables")


CONNECT = """
import os, socket
socket.create_connection((os.environ["KUBERNETES_SERVICE_HOST"], 443), timeout=5).close()
"""
