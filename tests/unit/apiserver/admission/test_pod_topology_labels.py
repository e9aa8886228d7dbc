"""PodTopologyLabels: labels of the node on its pods."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import (
    Node,
    ObjectReference,
    Pod,
)
from podling.api.meta_v1 import ObjectMeta
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod
from tests.support.manifests import obj

NODE = """
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
status: {allocatable: {cpu: "4", memory: 4Gi}}
"""


async def bound(full_cluster: ControlPlane) -> Any:
    from podling.api.core_v1 import Binding

    await full_cluster.client.create(obj(Node, NODE))
    await create_pod(
        full_cluster, "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}"
    )
    target = Binding(metadata=ObjectMeta(name="web"), target=ObjectReference(kind="Node", name="n1"))
    await full_cluster.client.create_subresource(Pod, "web", "binding", target, "default")
    return await full_cluster.client.get(Pod, "web", "default")


async def test_a_bound_pod_carries_its_nodes_zone(full_cluster: ControlPlane) -> None:
    pod = await bound(full_cluster)
    assert pod.spec.node_name == "n1"
    assert pod.metadata.labels == {"topology.kubernetes.io/zone": "z1"}
    assert [(each.type, each.status) for each in pod.status.conditions] == [("PodScheduled", "True")]
