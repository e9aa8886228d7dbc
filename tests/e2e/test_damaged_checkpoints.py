"""Checkpoints of the kubelet that cannot be read: reported, written anew, and no pod ends for them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig, MemoryReservation
from podling.kubelet.topology.machine_topology import MachineTopology, NumaNode, read_topology
from tests.support import oci_node
from tests.support.real_kubelet import RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

AMOUNTS = {"cpu": "1", "memory": "64Mi"}
RESERVED = "100Mi"
CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    reserved_system_cpus="0",
    memory_manager_policy="Static",
    reserved_memory=(MemoryReservation(0, {"memory": RESERVED}),),
    system_reserved={"memory": RESERVED},
    eviction_hard={},
)
FILES = ("cpu_manager_state", "memory_manager_state")
OTHER_POLICY = b'{"policyName":"none","checksum":0}'
UNKNOWN_SHAPE = b'{"policyName":7}'


def one_numa_node() -> MachineTopology:
    """Return this machine's CPUs as one NUMA node, so that one reservation fits machines of any shape."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = read_topology(frozenset(os.sched_getaffinity(0)), memory)
    return MachineTopology(
        {number: replace(cpu, numa=0) for number, cpu in found.cpus.items()}, {0: NumaNode(memory)}
    )


async def state(node: RealNode, name: str) -> tuple[str | None, int, str, str, str]:
    """Return a pod's container and its restarts, and the users, CPUs and memory that it sees."""
    pod = await node.client.get(Pod, name, "default")
    (container,) = pod.status.container_statuses
    script = "cat /proc/self/uid_map; grep -E '(Cpus|Mems)_allowed_list' /proc/self/status"
    said = await node.exec(pod, "main", "sh", "-c", script)
    users, cpus, memory = said.out.splitlines()
    return container.container_id, container.restart_count, users, cpus, memory


def reserved(root: Path, uid: str) -> dict[str, Any]:
    """Return what the memory manager's file assigns to a pod."""
    plain = json.loads((root / "memory_manager_state").read_bytes())
    found: dict[str, Any] = plain["entries"][uid]
    return found


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b'{"checksum":1}', OTHER_POLICY, UNKNOWN_SHAPE])
async def test_damaged_checkpoint_ends_no_pod(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with real_node(tmp_path, CONFIG, one_numa_node()) as node:
        sizes = {"requests": AMOUNTS, "limits": AMOUNTS}
        exact = await node.run("exact", {"name": "main", "resources": sizes})
        await node.run("own-users", {"name": "main"}, hostUsers=False)
        before = [await state(node, name) for name in ("exact", "own-users")]
        root = node.machine.root / "kubelet"
        uid = exact.metadata.uid or ""
        assigned = await asyncio.to_thread(reserved, root, uid)
        assert [block["size"] for block in assigned["main"]] == [64 << 20]
        await node.stop()
        damaged = [*(root / name for name in FILES), *root.glob("pods/*/userns")]
        assert len(damaged) == 3
        for path in damaged:
            await asyncio.to_thread(path.write_bytes, damage)
        caplog.clear()
        await node.start()
        await node.run("later", {"name": "main"}, hostUsers=False)
        for name in FILES:
            assert f"is put aside as {name}.damaged" in caplog.text
            assert await asyncio.to_thread((root / f"{name}.damaged").read_bytes) == damage
        assert "invalid user namespace mappings file" in caplog.text
        assert [await state(node, name) for name in ("exact", "own-users")] == before
        assert await asyncio.to_thread(reserved, root, uid) == assigned, "its memory is not given again"
        _, _, users, cpus, _ = await state(node, "later")
        assert users != before[1][2], "users of a living pod are not given again"
        assert cpus.split()[-1] == "0", "the CPU of a living container is not shared"
        for path in damaged:
            assert await asyncio.to_thread(path.read_bytes) != damage
