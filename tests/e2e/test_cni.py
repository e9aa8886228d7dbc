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
