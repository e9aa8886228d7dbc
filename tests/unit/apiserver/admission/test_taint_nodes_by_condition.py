"""TaintNodesByCondition: the taint of a new node."""

from __future__ import annotations

from podling.api.core_v1 import (
    Node,
)
from podling.api.meta_v1 import ObjectMeta
from podling.testing import ControlPlane


async def test_a_new_node_takes_no_pods_yet(full_cluster: ControlPlane) -> None:
    node = await full_cluster.client.create(Node(metadata=ObjectMeta(name="n1")))
    assert [(each.key, each.effect) for each in node.spec.taints] == [
        ("node.kubernetes.io/not-ready", "NoSchedule")
    ]
