"""Extended resources that an administrator advertises by patching the node's capacity."""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import Node, Pod
from tests.support.kubelet_node import NODE, SimNode, pod

GPU = "example.com/gpu"


async def advertise(node: SimNode, capacity: dict[str, str]) -> None:
    found = await node.client.get(Node, NODE)
    status = structs.replace(found.status, capacity={**found.status.capacity, **capacity})
    await node.client.update(structs.replace(found, status=status), subresource="status")


def asking(name: str, amount: str) -> Pod:
    resources = {"requests": {GPU: amount}, "limits": {GPU: amount}}
    return pod(name, containers=[{"name": "app", "image": "app:1", "resources": resources}])


async def test_patched_capacity_is_kept_and_derives_allocatable(node: SimNode) -> None:
    await advertise(node, {GPU: "4"})
    await node.pass_time(400)
    found = await node.client.get(Node, NODE)
    assert (found.status.capacity[GPU], found.status.allocatable[GPU]) == ("4", "4")
    assert found.status.capacity["cpu"] == "4"

    await node.create(asking("fits", "3"))
    await node.create(asking("too-many", "2"))
    await node.pass_time(10)
    assert (await node.get("fits")).status.phase == "Running"
    assert (await node.get("too-many")).status.reason == f"OutOf{GPU}"

    await node.restart()
    await node.pass_time(30)
    found = await node.client.get(Node, NODE)
    assert found.status.capacity[GPU] == "4"
    assert (await node.get("fits")).status.phase == "Running"


async def test_withdrawn_capacity_is_gone_from_allocatable(node: SimNode) -> None:
    await advertise(node, {GPU: "4"})
    await node.pass_time(20)
    found = await node.client.get(Node, NODE)
    capacity = {name: amount for name, amount in found.status.capacity.items() if name != GPU}
    status = structs.replace(found.status, capacity=capacity)
    await node.client.update(structs.replace(found, status=status), subresource="status")
    await node.pass_time(20)
    found = await node.client.get(Node, NODE)
    assert GPU not in found.status.capacity
    assert GPU not in found.status.allocatable
