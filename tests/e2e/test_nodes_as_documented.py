"""Statements about nodes, on this machine: its facts, heartbeats, swap, and evictions under pressure."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling.api.core_v1 import Node, Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import primary_address
from tests.support import descriptions, oci_node
from tests.support.cgroup_values import UNIFIED
from tests.support.clusters import RealCluster, shell_pod
from tests.support.real_kubelet import RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

MIB = 1 << 20


def meminfo(name: str) -> int:
    """Return an amount of the machine's memory in KiB."""
    (line,) = (each for each in Path("/proc/meminfo").read_text().splitlines() if each.startswith(f"{name}:"))
    return int(line.split()[1])


def test_node_reports_the_facts_of_its_machine(cluster: RealCluster) -> None:
    (node,) = cluster.get("nodes")["items"]
    status = node["status"]
    assert node["metadata"]["name"] == platform.node().lower()
    assert {"type": "InternalIP", "address": primary_address()} in status["addresses"]
    assert {"type": "Hostname", "address": node["metadata"]["name"]} in status["addresses"]
    assert status["capacity"]["cpu"] == str(os.cpu_count())
    assert status["capacity"]["memory"] == f"{meminfo('MemTotal')}Ki"
    assert status["capacity"]["pods"] == "110"
    assert status["allocatable"]["memory"] == f"{meminfo('MemTotal') - 100 * 1024}Ki", "less the threshold"
    info = status["nodeInfo"]
    assert info["kernelVersion"] == platform.release()
    assert info["bootID"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert (info["operatingSystem"], info["kubeProxyVersion"]) == ("linux", "")
    assert info["containerRuntimeVersion"].partition("://")[0] in ("crun", "runc")
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "NetworkUnavailable": "False",
        "Ready": "True",
    }


def test_description_of_the_node_has_the_values_of_its_parts(cluster: RealCluster) -> None:
    """The parts of the documentation's example, with the values of the objects that kubectl reads."""
    (node,) = cluster.get("nodes")["items"]
    name, status = node["metadata"]["name"], node["status"]
    cluster.apply(shell_pod("described", "sleep 3600", container={"resources": {"requests": {"cpu": "50m"}}}))
    try:
        cluster.wait_ready("described")
        text = cluster.kubectl("describe", "node", name)
    finally:
        cluster.kubectl("delete", "pod", "described", "--grace-period=1")
    shown = descriptions.sections(text)
    assert (shown["Name"], shown["Taints"], shown["Unschedulable"]) == (name, "<none>", "false")
    assert f"kubernetes.io/hostname={name}" in shown["Labels"]
    assert shown["Lease"]["HolderIdentity"] == name
    conditions = [line.split() for line in shown["Conditions"][2:]]
    assert {(row[0], row[1]) for row in conditions} == {
        (each["type"], each["status"]) for each in status["conditions"]
    }
    assert shown["Addresses"] == {"InternalIP": primary_address(), "Hostname": name}
    for part in ("capacity", "allocatable"):
        assert shown[part.capitalize()] == status[part]
    info = shown["System Info"]
    assert info["Kernel Version"] == platform.release()
    assert info["Kubelet Version"] == status["nodeInfo"]["kubeletVersion"]
    assert info["Container Runtime Version"] == status["nodeInfo"]["containerRuntimeVersion"]
    share = f"({5 // int(status['allocatable']['cpu'])}%)"
    assert ["default", "described", "50m", share] in [line.split()[:4] for line in text.splitlines()]
    (allocated,) = re.findall(r"^  cpu +(\d+)m \(\d+%\)", text, re.MULTILINE)
    assert int(allocated) >= 50


def test_lease_of_the_node_is_renewed(cluster: RealCluster) -> None:
    """Every ten seconds; it would be valid for forty."""
    (node,) = cluster.get("nodes")["items"]
    name = node["metadata"]["name"]
    where = ("lease", name, "-n", "kube-node-lease")
    before = cluster.get(*where)
    assert before["spec"]["holderIdentity"] == name
    assert before["spec"]["leaseDurationSeconds"] == 40
    renewed = ("--watch-only", "-o", "jsonpath={.spec.renewTime} ")
    with subprocess.Popen(
        cluster.kubectl_command("get", *where, "-w", *renewed), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        time = process.stdout.read(len(before["spec"]["renewTime"]))
        process.terminate()
    assert time > before["spec"]["renewTime"]
    (owner,) = cluster.get(*where)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])


@pytest.mark.slow
async def test_pods_are_evicted_in_the_order_of_what_they_exceed(tmp_path: Path) -> None:
    """BestEffort before Burstable above its request, before those below; one that is critical never.

    The node shows its condition, and rejects a new BestEffort pod.
    """
    calm = KubeletConfig(eviction_hard={})
    async with real_node(tmp_path, calm) as node:
        await node.run("lowest", taking(40))
        await node.run("roomy", taking(20, {"requests": {"memory": "1Mi"}}))
        await node.run("modest", taking(20, {"requests": {"memory": "64Mi"}}))
        exact = {"cpu": "10m", "memory": "256Mi"}
        await node.run("exact", taking(20, {"requests": exact, "limits": exact}))
        await node.run("vital", taking(60), priorityClassName="system-node-critical")
        await node.stop()
        all_of_it = {"memory.available": f"{meminfo('MemTotal')}Ki"}
        node.deps = replace(node.deps, config=replace(node.deps.config, eviction_hard=all_of_it))
        await node.start()
        order = await evicted(node, 4)
        assert order == ["lowest", "roomy", "modest", "exact"]
        vital = await node.client.get(Pod, "vital", "default")
        assert vital.status.phase == "Running"
        lowest = (await node.client.get(Pod, "lowest", "default")).status
        assert lowest.reason == "Evicted"
        assert lowest.message.startswith("The node was low on resource: memory. Threshold quantity: ")
        assert "Container main was using " in lowest.message
        (target,) = (each for each in lowest.conditions if each.type == "DisruptionTarget")
        assert (target.status, target.reason) == ("True", "TerminationByKubelet")
        late = (await node.run("late", taking(1))).status
        assert (late.phase, late.reason) == ("Failed", "Evicted")
        assert late.message == "Pod was rejected: The node had condition: [MemoryPressure]. "
        (found,) = (await node.client.list(Node)).items
        (pressure,) = (each for each in found.status.conditions if each.type == "MemoryPressure")
        assert (pressure.status, pressure.reason) == ("True", "KubeletHasInsufficientMemory")


def taking(mebibytes: int, resources: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a container that keeps so much memory."""
    fill = f"dd if=/dev/zero of=/dev/shm/taken bs=1M count={mebibytes}"
    script = f"{fill}; trap 'exit 143' TERM; sleep 3600 & wait"  # one that ends well has succeeded
    return {"name": "main", "command": ["sh", "-c", script], "resources": resources or {}}


async def evicted(node: RealNode, count: int) -> list[str]:
    """Watch pods fail; return the names of the first ones in that order."""
    order: list[str] = []
    revision = (await node.client.list(Pod, "default")).resource_version
    events = node.client.watch(Pod, "default", resource_version=revision)
    async with asyncio.timeout(120):
        async for event in events:
            name = event.object.metadata.name or ""
            if event.object.status.phase == "Failed" and name not in order:
                order.append(name)
            if len(order) == count:
                break
    return order


KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
memorySwap: {swapBehavior: LimitedSwap}
"""
AREA = "Filename\tType\tSize\tUsed\tPriority\n/swap file 4194304 0 -2\n"
MOUNTS = 'mount --bind "$0/swaps" /proc/swaps && mount --bind "$0/meminfo" /proc/meminfo && exec "$@"'


@pytest.fixture
def swapping(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster, not yet started, whose processes see a machine with 4 GiB of swap."""
    (tmp_path / "swaps").write_text(AREA)
    lines = Path("/proc/meminfo").read_text().splitlines(keepends=True)
    changed = ("SwapTotal: 4194304 kB\n" if line.startswith("SwapTotal:") else line for line in lines)
    (tmp_path / "meminfo").write_text("".join(changed))
    (tmp_path / "kubelet.yaml").write_text(KUBELET)
    cluster = RealCluster(tmp_path / "data", "oci", "--port", "0")
    cluster.program = ["unshare", "--mount", "sh", "-c", MOUNTS, str(tmp_path), *cluster.program]
    yield cluster
    cluster.remove()


def test_machine_with_swap_needs_a_configuration_that_allows_it(
    swapping: RealCluster, tmp_path: Path
) -> None:
    """The kubelet reads the machine's files as on any node; only their content is the test's."""
    refused = swapping.podling("up", "--detach", "--runtime", "oci", "--port", "0")
    assert refused.code != 0
    assert "running with swap on is not supported, please disable swap or set --fail-swap-on" in refused.err
    assert "/swap" in refused.err
    swapping.up("--kubelet-config", str(tmp_path / "kubelet.yaml"))
    (node,) = swapping.get("nodes")["items"]
    assert node["status"]["nodeInfo"]["swap"] == {"capacity": 4 << 30}
    sizes = {"requests": {"memory": "32Mi"}, "limits": {"memory": "64Mi"}}
    swapping.apply(shell_pod("part", "sleep 3600", container={"resources": sizes}))
    swapping.apply(shell_pod("free", "sleep 3600"))
    for name in ("part", "free"):
        swapping.wait_ready(name)
    if UNIFIED:
        share = int(swapping.kubectl("exec", "part", "--", "cat", "/sys/fs/cgroup/memory.swap.max"))
        assert 0 < share < 64 * MIB
    else:
        files = "cd /sys/fs/cgroup/memory && cat memory.limit_in_bytes memory.memsw.limit_in_bytes"
        limits = swapping.kubectl("exec", "part", "--", "sh", "-c", files).split()
        assert limits == [str(64 * MIB)] * 2, "memory and swap together: none is left for swap"
        assert (
            swapping.kubectl("exec", "free", "--", "cat", "/sys/fs/cgroup/memory/memory.swappiness") == "0\n"
        )
