"""Nodes on other machines when the control plane, a node or the network fails, and when they leave."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import shell_pod
from tests.support.joined_nodes import JoinedMachine, cluster_on, join_arguments, joined
from tests.support.machines import MachineCluster, Machines, machines, missing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers()),
]
COUNTING = "i=0; while true; do i=$((i+1)); echo $i >/dev/termination-log; echo $i; sleep 0.2; done"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(2, tmp_path) as built:
        yield built


@pytest.fixture
def cluster(two: Machines) -> Iterator[MachineCluster]:
    with cluster_on(two[0], "oci") as running:
        yield running


@pytest.fixture
def node(cluster: MachineCluster, two: Machines) -> Iterator[JoinedMachine]:
    with joined(cluster, "oci", two[1]) as (found,):
        yield found


def until(what: str, found: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until something is the case; fail after some seconds."""
    import select

    deadline = clock.monotonic() + seconds
    while not found():
        assert clock.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        select.select([], [], [], 0.2)


def counting_pod(cluster: MachineCluster, name: str, **container: Any) -> None:
    manifest = shell_pod(name, COUNTING, container=container)
    manifest["spec"]["nodeName"] = "machine-2"
    cluster.apply(manifest)
    cluster.wait_ready(name)


def container_of(cluster: MachineCluster, name: str) -> tuple[str, int]:
    """Return the id of a pod's container ("" while it waits to be made), and its restarts."""
    found = cluster.get("pod", name)["status"]["containerStatuses"][0]
    return found.get("containerID", ""), found["restartCount"]


def is_ready(cluster: MachineCluster, status: str = "True") -> bool:
    done = cluster.try_kubectl("get", "node", "machine-2", "-o", "json")
    if done.code:
        return False
    conditions = json.loads(done.out)["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == status for each in conditions)


def restarted(node: JoinedMachine, pod: str) -> int:
    """Return how often a container of a pod was started, from the records on the node's disk."""
    logs = list((node.directory / "nodes").rglob(f"*{pod}*/*/*.log"))
    return max((int(path.stem) for path in logs if path.stem.isdigit()), default=0)


def test_node_goes_on_without_its_control_plane(cluster: MachineCluster, node: JoinedMachine) -> None:
    """Pods run on, a container that ends is started again, and the node comes back by itself."""
    counting_pod(cluster, "steady")
    before = container_of(cluster, "steady")
    counting_pod(cluster, "failing", livenessProbe={
        "exec": {"command": ["sh", "-c", "test $(cat /dev/termination-log) -lt 30"]},
        "periodSeconds": 1, "failureThreshold": 1,
    }, terminationMessagePath="/dev/termination-log")  # fmt: skip
    cluster.kill()
    until("a restart by a probe without the API server", lambda: restarted(node, "failing") >= 1)
    cluster.up()
    until("the node to be back", lambda: is_ready(cluster), 60)
    until("the restarts to be reported", lambda: container_of(cluster, "failing")[1] >= 1, 60)
    assert container_of(cluster, "steady") == before
    assert "Ready" in node.podling("status").out
    counting_pod(cluster, "new")


def test_killed_node_adopts_its_containers(cluster: MachineCluster, node: JoinedMachine) -> None:
    counting_pod(cluster, "adopted")
    before = container_of(cluster, "adopted")
    node.kill()
    assert node.podling("status").code == 3
    node.join()
    assert container_of(cluster, "adopted") == before
    assert int(cluster.kubectl("logs", "adopted", "--tail=1")) > 0
    assert cluster.kubectl("exec", "adopted", "--", "echo", "there") == "there\n"


def test_killed_node_starts_without_its_control_plane(cluster: MachineCluster, node: JoinedMachine) -> None:
    counting_pod(cluster, "adopted")
    before = container_of(cluster, "adopted")
    cluster.kill()
    node.kill()
    begun = clock.monotonic()
    started = node.podling("join", "--detach")  # it runs, and says that it is not Ready
    assert started.code == 0, started.err
    assert clock.monotonic() - begun < 40, "it does not wait for a minute, as for a server that answers"
    absence = f"the API server https://{cluster.machine.address}:6443 does not answer"
    assert re.search(f"waiting .*{absence}.*; pods run without it", started.out), started.out
    assert f"The node runs, but {absence}" in started.out
    cluster.up()
    until("the node to be back", lambda: is_ready(cluster), 60)
    assert container_of(cluster, "adopted") == before


def test_restarted_machine_runs_its_static_pods_without_its_control_plane(
    cluster: MachineCluster, node: JoinedMachine, two: Machines, tmp_path: Path
) -> None:
    """The node knows its block of addresses and its identity from its disk; /run is empty."""
    manifests = tmp_path / "static"
    manifests.mkdir()
    (manifests / "static.json").write_text(json.dumps(shell_pod("static", COUNTING)))
    assert node.podling("down", "--grace", "1").code == 0
    node.join("--static-pod-path", str(manifests))
    cluster.wait_ready("static-machine-2")
    block = cluster.get("node", "machine-2")["spec"]["podCIDR"]
    cluster.kill()
    two.restart(two[1])
    assert node.podling("join", "--detach").code == 0
    until("the static pod to run", lambda: node.machine.try_run("pgrep", "-f", "termination-log").code == 0)
    assert any(block.removesuffix("0/24") in each for each in node.machine.run("ip", "route").splitlines())
    cluster.up()
    until("the node to be back", lambda: is_ready(cluster), 60)


def test_partition_ends_no_pod(cluster: MachineCluster, node: JoinedMachine, two: Machines) -> None:
    """The node is marked as unreachable and comes back with the same containers once the network does."""
    counting_pod(cluster, "cut-off")
    before = container_of(cluster, "cut-off")
    two.isolate(two[1])
    until("the node to be unknown", lambda: is_ready(cluster, "Unknown"), 90)
    two.heal()
    until("the node to be back", lambda: is_ready(cluster), 90)
    until("exec", lambda: cluster.try_kubectl("exec", "cut-off", "--", "true").code == 0, 60)
    assert container_of(cluster, "cut-off") == before


def test_down_ends_everything_and_join_starts_it_again(cluster: MachineCluster, node: JoinedMachine) -> None:
    counting_pod(cluster, "ended")
    before = container_of(cluster, "ended")
    done = node.podling("down", "--grace", "1")
    assert "and 1 pod" in done.out
    assert node.machine.run("ls", "/sys/class/net").split() == ["eth0", "lo"]
    assert "table" not in node.machine.run("nft", "list", "tables")
    node.join()
    until("the pod to run again", lambda: container_of(cluster, "ended")[0] not in ("", before[0]), 60)
    cluster.wait_ready("ended")


def test_leaving_node_moves_its_pods_as_budgets_allow(cluster: MachineCluster, node: JoinedMachine) -> None:
    """It is refused while a budget holds a pod; then the pod moves, and nothing is left of the node."""
    cluster.kubectl("cordon", "machine-1")
    labels = {"app": "web"}
    template = shell_pod("x", "sleep 1000")
    template["metadata"] = {"labels": labels}
    template["spec"]["terminationGracePeriodSeconds"] = 1
    cluster.apply({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                 "template": {"metadata": template["metadata"], "spec": template["spec"]}},
    })  # fmt: skip
    cluster.apply({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    })  # fmt: skip
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    refused = node.podling("leave", "--timeout", "3")
    assert refused.code == 1
    assert "have not ended: default/web-" in refused.err
    assert "disruption budget" in refused.err
    assert is_ready(cluster)
    assert cluster.get("node", "machine-2")["spec"]["unschedulable"]
    cluster.kubectl("delete", "pdb", "web")
    cluster.kubectl("uncordon", "machine-1")
    left = node.podling("leave")
    assert left.out == "Node machine-2 has left: 1 pods moved, 0 ended here.\n"
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    assert [each["metadata"]["name"] for each in cluster.get("nodes")["items"]] == ["machine-1"]
    assert not (node.directory / "node.json").exists()
    assert list((node.directory / "pki").iterdir()) == []
    assert node.machine.run("ls", "/sys/class/net").split() == ["eth0", "lo"]
    assert node.podling("leave").code == 1
    node.join(*join_arguments(cluster))
    assert is_ready(cluster)


def test_nodes_join_a_cluster_of_several_processes(two: Machines) -> None:
    """The API server and its workers listen at the advertised address; logs come through a worker."""
    with (
        cluster_on(two[0], "oci", "--processes", "several", "--api-workers", "2") as cluster,
        joined(cluster, "oci", two[1]),
    ):
        counting_pod(cluster, "far")
        for _ in range(4):
            assert cluster.kubectl("exec", "far", "--", "echo", "there") == "there\n"
            assert cluster.kubectl("logs", "far", "--tail=1").strip().isdigit()


def test_certificate_follows_the_advertised_address(two: Machines) -> None:
    """Another address is in the certificate at the next start, and the authority stays."""
    cluster = MachineCluster(two[0], "sim")
    machine = cluster.machine
    try:
        machine.run("ip", "addr", "add", "192.168.177.77/24", "dev", "eth0")
        found = []
        for address in ("192.168.177.1", "192.168.177.77"):
            cluster.up("--advertise-address", address)
            url, _, _, _, ca_hash = join_arguments(cluster)
            assert url.startswith(f"https://{address}:")
            shown = two[1].run(
                "curl", "--silent", "--cacert", f"{cluster.directory}/pki/ca.crt", f"{url}/livez"
            )
            assert shown == "ok"
            found.append(ca_hash)
            cluster.down()
        assert found[0] == found[1]
        cluster.up("--advertise-address", "")
        assert cluster.podling("token create", "--join").code == 1
        assert cluster.try_kubectl("get", "configmap", "-n", "kube-public", "cluster-info").code == 1
    finally:
        cluster.down()
