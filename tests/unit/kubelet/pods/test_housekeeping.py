"""Clean-up and relist on a simulated node."""

from __future__ import annotations

from tests.support.kubelet_node import SimNode, pod


async def test_pods_deleted_without_a_kubelet_are_removed(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    await node.stop()
    await node.delete(grace_seconds=0)
    await node.restart()
    await node.pass_time(6)
    assert await node.runtime.list_containers() == ()
    assert await node.runtime.list_sandboxes() == ()
