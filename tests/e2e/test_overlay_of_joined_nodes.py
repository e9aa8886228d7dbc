"""One cluster on several machines: pods of all machines reach each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.joined_nodes import JoinedMachine, cluster_on, joined
from tests.support.machines import MachineCluster, Machines, machines, missing
from tests.support.overlay_clusters import ECHO_ADDRESS, SERVE, ask, large_packet

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

Joined = tuple[MachineCluster, list[JoinedMachine], Machines]


SMALL_BLOCKS = ("--node-cidr-mask-size", "26")


@pytest.fixture(params=[("vxlan",), ("routes", *SMALL_BLOCKS)], ids=["vxlan", "routes"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Joined]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    with (
        machines(3, tmp_path) as built,
        cluster_on(built[0], "oci", "--network", *request.param) as found,
        joined(found, "oci", built[1], built[2]) as nodes,
    ):
        yield found, nodes, built


def serve_on(cluster: MachineCluster, node: str) -> str:
    """Start a pod on a node; return its address."""
    name = f"web-{node}"
    selector = {"kubernetes.io/hostname": node}
    cluster.apply(shell_pod(name, f"{ECHO_ADDRESS}{SERVE}", nodeSelector=selector))
    cluster.wait_ready(name)
    return str(cluster.get("pod", name)["status"]["podIP"])


def test_pods_of_every_machine_reach_each_other_also_after_restarts(cluster: Joined) -> None:
    control, nodes, built = cluster
    names = [machine.name for machine in built]
    addresses = {name: serve_on(control, name) for name in names}
    blocks = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in control.get("nodes")["items"]}
    assert len(set(blocks.values())) == 3
    for node in nodes:
        size = json.loads((node.directory / "node.json").read_text()).get("node_masks", {}).get("single", 0)
        assert blocks[node.machine.name].endswith(f"/{size or 24}"), "a machine learns the size when it joins"
    everyone_reaches_everyone(control, addresses)
    for node in control.get("nodes")["items"]:
        (found,) = [each for each in node["status"]["conditions"] if each["type"] == "NetworkUnavailable"]
        assert (found["status"], found["reason"]) == ("False", "RouteCreated")
    for _ in range(2):
        control.kill()
        control.up()
    nodes[0].kill()
    nodes[0].join()
    control.kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=60s")
    everyone_reaches_everyone(control, addresses)
    after = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in control.get("nodes")["items"]}
    assert after == blocks
    size = 1450 if "vxlan id" in built[0].run("ip", "-d", "link") else 1500
    assert large_packet(control, f"web-{names[0]}", addresses[names[1]], size) == "answered"


def everyone_reaches_everyone(control: MachineCluster, addresses: dict[str, str]) -> None:
    for one, own in addresses.items():
        for address in addresses.values():
            assert ask(control, f"web-{one}", address) == f"[::ffff:{own}]"
