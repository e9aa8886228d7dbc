"""Parts of the pod network that another program deletes come back, for the pods that run already."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from podling.network.names import Names
from tests.support import network_damage
from tests.support.clusters import RealCluster, shell_pod
from tests.support.network_damage import fetch, healthy, on_node, web_pod
from tests.support.oci_node import missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.mark.parametrize(
    ("damage", "report"),
    [
        ("nft delete table ip {table}", "the nftables table podling_"),
        ("nft delete table bridge {table}", "the nftables table podling_"),
        ("nft flush table ip {table}", "was changed"),
        ("nft flush chain bridge {table} from_pod", "was changed"),
        ("nft flush ruleset", "is missing"),
        ("ip link delete {bridge}", "is gone"),
        ("ip link set {bridge} down", "is down"),
        ("ip addr flush dev {bridge}", "has lost its address"),
        ("ip link set {port} nomaster", "pods are cut off from the bridge"),
        ("sysctl -qw net.ipv4.ip_forward=0", "ip_forward was changed"),
    ],
)
async def test_damage_is_reported_and_repaired(tmp_path: Path, damage: str, report: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "--net", sys.executable, network_damage.__file__, str(tmp_path), damage]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
    async with asyncio.timeout(60):
        said, _ = await child.communicate()
    before, reported, after = said.decode().splitlines()
    assert (before, after) == ("before: through", "after: through")
    assert report in reported


async def test_deleted_bridge_comes_back_at_start_for_the_pods_that_run(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as probe:
        port = int(probe.getsockname()[1])
    async with node(tmp_path) as before:
        await web_pod(before, port)
        await before.runtime.close()
        await on_node("ip", "link", "delete", Names.of(before.cluster).bridge)
        after = before.again()
        await after.start()
        await healthy(after)
        assert await fetch(port) == "through"
        await after.runtime.close()


def test_node_says_that_its_network_is_damaged_and_heals(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.apply(shell_pod("pod", "trap 'exit 0' TERM; sleep 3600 & wait"))
    own_cluster.wait_ready("pod")
    names = Names.of(f"{DataDirectory(own_cluster.directory).id}-0")
    wait = ["wait", "node", "--all", "--timeout=30s", "--for=condition=Ready=False", "-o", "json"]
    with subprocess.Popen(own_cluster.kubectl_command(*wait), stdout=subprocess.PIPE, text=True) as waiting:
        subprocess.run(["ip", "link", "delete", names.bridge], check=True)
        said, _ = waiting.communicate()
    (ready,) = [found for found in json.loads(said)["status"]["conditions"] if found["type"] == "Ready"]
    assert ready["reason"] == "KubeletNotReady"
    assert f"container runtime network not ready: the bridge {names.bridge} is gone" in ready["message"]
    own_cluster.kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=15s")
    repaired = "--field-selector=involvedObject.kind=Node,reason=PodNetworkRepaired"
    (event,) = own_cluster.get("events", "-A", repaired)["items"]
    assert (event["type"], event["message"]) == ("Warning", f"the bridge {names.bridge} is gone")
    assert "PodNetworkRepaired" in own_cluster.kubectl("describe", "node")
    address = own_cluster.get("pod", "pod")["status"]["podIP"]
    assert subprocess.run(["ip", "neigh", "flush", "dev", names.bridge], check=True)
    with pytest.raises(ConnectionRefusedError):  # the pod answers: nothing listens there
        socket.create_connection((address, 9), timeout=5)


async def test_subnet_of_a_deleted_bridge_is_not_taken_by_another_node(tmp_path: Path) -> None:
    """With one route for two bridges, the pods of one of them would stay unreachable."""
    async with node(tmp_path / "first") as first:
        await on_node("ip", "link", "delete", Names.of(first.cluster).bridge)
        async with node(tmp_path / "second") as second:
            assert not first.network.subnet.overlaps(second.network.subnet)
