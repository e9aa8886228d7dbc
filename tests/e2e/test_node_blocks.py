"""Nodes use the blocks of pod addresses that the cluster assigned to them, on real containers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.machines import MachineCluster, machines, missing

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

SLEEP = "trap 'exit 0' TERM; sleep 3600 & wait"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MachineCluster]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with machines(1, tmp_path) as (machine,):
        yield MachineCluster(machine)


def block(cluster: MachineCluster) -> str:
    (found,) = cluster.get("node", "machine-1")["spec"]["podCIDRs"]
    return str(found)


def start(cluster: MachineCluster, name: str) -> str:
    cluster.apply(shell_pod(name, SLEEP))
    cluster.wait_ready(name)
    return str(cluster.get("pod", name)["status"]["podIP"])


def routes(cluster: MachineCluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cluster.machine.run("ip", "-json", "route"))
    return [route for route in found if route["dev"].startswith("pl-")]


def test_node_uses_another_block_than_it_would_like(cluster: MachineCluster) -> None:
    cluster.up("--nodes", "0")
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "machine-1"},
            "spec": {"podCIDR": "10.88.77.0/24"},
        }
    )
    cluster.podling("down")
    cluster.up("--nodes", "1")
    assert block(cluster) == "10.88.77.0/24"
    assert start(cluster, "one") == "10.88.77.2"
    assert [route["dst"] for route in routes(cluster)] == ["10.88.77.0/24"]
    cluster.kill()
    cluster.up()
    assert start(cluster, "two") == "10.88.77.3"
    cluster.kubectl("exec", "two", "--", "busybox", "ping", "-c", "1", "-W", "5", "10.88.77.2")


def test_node_that_is_deleted_gets_its_block_again(cluster: MachineCluster) -> None:
    cluster.up()
    before = block(cluster)
    address = start(cluster, "one")
    cluster.kubectl("delete", "node", "machine-1")
    cluster.kubectl("wait", "node/machine-1", "--for=create", "--timeout=30s")
    cluster.kubectl("wait", "node/machine-1", "--for=jsonpath={.spec.podCIDR}", "--timeout=30s")
    assert block(cluster) == before
    assert ip_address(address) in ip_network(before)


def test_node_avoids_the_routes_of_its_machine(cluster: MachineCluster) -> None:
    cluster.machine.run("ip", "route", "add", "10.88.0.0/23", "via", "192.168.177.254")
    cluster.up()
    assert block(cluster) == "10.88.2.0/24"
    node = cluster.get("node", "machine-1")
    assert node["metadata"]["annotations"]["podling.dev/preferred-pod-cidrs"] == "10.88.2.0/24"
    assert start(cluster, "one") == "10.88.2.2"


def test_pods_run_where_no_controller_assigns_blocks(cluster: MachineCluster) -> None:
    cluster.up("--controllers", "*,-node-ipam-controller")
    assert "podCIDR" not in cluster.get("node", "machine-1")["spec"]
    assert start(cluster, "one") == "10.88.0.2"
