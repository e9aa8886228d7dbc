"""Checkpoints of the kubelet that cannot be read: reported, written anew, and no pod ends for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from tests.support import oci_node
from tests.support.real_kubelet import RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

AMOUNTS = {"cpu": "1", "memory": "64Mi"}


async def state(node: RealNode, name: str) -> tuple[str | None, int, str, str]:
    """Return a pod's container and its restarts, and the users and CPUs that it sees."""
    pod = await node.client.get(Pod, name, "default")
    (container,) = pod.status.container_statuses
    script = "cat /proc/self/uid_map; grep Cpus_allowed_list /proc/self/status"
    said = await node.exec(pod, "main", "sh", "-c", script)
    users, cpus = said.out.splitlines()
    return container.container_id, container.restart_count, users, cpus


@pytest.mark.parametrize("damage", [b"", b"\0" * 100])
async def test_damaged_checkpoint_ends_no_pod(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    config = KubeletConfig(cpu_manager_policy="static", reserved_system_cpus="0", eviction_hard={})
    async with real_node(tmp_path, config) as node:
        sizes = {"requests": AMOUNTS, "limits": AMOUNTS}
        await node.run("exact", {"name": "main", "resources": sizes})
        await node.run("own-users", {"name": "main"}, hostUsers=False)
        before = [await state(node, name) for name in ("exact", "own-users")]
        await node.stop()
        root = node.machine.root / "kubelet"
        damaged = [root / "cpu_manager_state", *root.glob("pods/*/userns")]
        assert len(damaged) == 2
        for path in damaged:
            await asyncio.to_thread(path.write_bytes, damage)
        caplog.clear()
        await node.start()
        await node.run("later", {"name": "main"}, hostUsers=False)
        assert "is put aside as cpu_manager_state.damaged" in caplog.text
        assert "invalid user namespace mappings file" in caplog.text
        assert [await state(node, name) for name in ("exact", "own-users")] == before
        _, _, users, cpus = await state(node, "later")
        assert users != before[1][2], "users of a living pod are not given again"
        assert cpus.split()[-1] == "0", "the CPU of a living container is not shared"
        for path in damaged:
            assert await asyncio.to_thread(path.read_bytes) != damage
