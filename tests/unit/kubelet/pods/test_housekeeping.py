"""Clean-up and relist on a simulated node."""

from __future__ import annotations

from pathlib import Path

from podling.kubelet.config import KubeletConfig
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node


async def test_pods_deleted_without_a_kubelet_are_removed(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    await node.stop()
    await node.delete(grace_seconds=0)
    await node.restart()
    await node.pass_time(6)
    assert await node.runtime.list_containers() == ()
    assert await node.runtime.list_sandboxes() == ()
    assert node.kubelet.pod_view.metrics.orphans == 1


async def test_directory_of_no_pod_is_removed_after_a_relist(cluster: ControlPlane, tmp_path: Path) -> None:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",),
        capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"},
    )
    async with sim_node(cluster, tmp_path, config=config) as node:
        await node.pass_time(11)
        lost = tmp_path / "pods" / "lost"
        lost.mkdir(parents=True)
        await node.pass_time(config.relist_interval)
        assert not lost.exists()
