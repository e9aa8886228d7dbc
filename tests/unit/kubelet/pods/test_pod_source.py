"""Read access to the pods of a simulated node."""

from __future__ import annotations

from tests.support.kubelet_node import SimNode, pod


async def test_pods_are_listed_by_name(node: SimNode) -> None:
    for name in ("b", "a"):
        await node.create(pod(name))
    await node.pass_time(2)
    view = node.kubelet.pod_view
    assert [found.metadata.name for found in view.pods()] == ["a", "b"]
    assert view.get_pod("default", "none") is None
    found = view.get_pod("default", "a")
    assert found is not None
    assert found.status.phase == "Running"


async def test_previous_instance_is_the_one_before(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 2, "exitCode": 1}, {}]}))
    await node.pass_time(1)
    view = node.kubelet.pod_view
    found = view.get_pod("default", "web")
    assert found is not None
    first = view.container_id(found, "app")
    assert first is not None
    assert view.container_id(found, "app", previous=True) is None
    await node.pass_time(5)
    second = view.container_id(found, "app")
    assert second not in (None, first)
    assert view.container_id(found, "app", previous=True) == first


async def test_newest_pod_of_a_name_is_returned(node: SimNode) -> None:
    await node.create(pod(script={"stopSeconds": 20}, terminationGracePeriodSeconds=30))
    await node.pass_time(2)
    await node.delete(grace_seconds=0)
    await node.pass_time(1)
    second = await node.create(pod())
    await node.pass_time(1)
    found = node.kubelet.pod_view.get_pod("default", "web")
    assert found is not None
    assert found.metadata.uid == second.metadata.uid
