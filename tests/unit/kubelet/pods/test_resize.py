"""Decisions about a resize, as tables."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Node, NodeStatus
from podling.kubelet.pods.resize import Pending, resize_refusal
from tests.support.kubelet_node import pod


def sized(cpu: str = "1", memory: str = "1Gi", **container: Any) -> list[dict[str, Any]]:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": amounts, "limits": amounts}
    return [{"name": "app", "image": "app:1", "resources": resources, **container}]


def test_resize_beyond_the_node_is_infeasible() -> None:
    """The API server refuses it first; the kubelet does if the node has become smaller meanwhile."""
    node = Node(status=NodeStatus(allocatable={"cpu": "4", "memory": "8Gi"}))
    found = resize_refusal(pod(containers=sized("5")), node, ())
    message = "Node didn't have enough capacity: cpu, requested: 5, capacity: 4"
    assert found == Pending("Infeasible", message)
    assert resize_refusal(pod(containers=sized("4")), node, ()) is None
