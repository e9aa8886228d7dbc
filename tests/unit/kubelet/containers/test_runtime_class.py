"""Runtime classes on a simulated node."""

from __future__ import annotations

from podling.api.meta_v1 import ObjectMeta
from podling.api.node_v1 import RuntimeClass
from tests.support.kubelet_node import SimNode, pod


async def test_runtime_class_is_served_or_refused(node: SimNode) -> None:
    for name, handler in (("plain", "sim"), ("sealed", "kata")):
        await node.client.create(RuntimeClass(metadata=ObjectMeta(name=name), handler=handler))
        await node.create(pod(name, runtimeClassName=name))
    await node.pass_time(2)
    assert (await node.get("plain")).status.phase == "Running"
    assert (await node.get("sealed")).status.phase == "Pending"
    recorded = 'FailedCreatePodSandBox: Failed to create pod sandbox: no runtime for "kata" is configured'
    assert recorded in await node.events("sealed")
