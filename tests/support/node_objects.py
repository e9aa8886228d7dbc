"""Nodes without a kubelet, on which pods can be placed but never run."""

from __future__ import annotations

from podling.api.core_v1 import Node
from podling.client.base import Client
from podling.machinery.encoding import codec

ALLOCATABLE = {"cpu": "1", "memory": "1Gi", "pods": "10"}


async def add_node(client: Client, name: str) -> None:
    """Create a node that takes pods at once."""
    await client.create(codec.from_plain({"metadata": {"name": name}}, Node))
    await client.patch(Node, name, {"spec": {"taints": None}})
    await client.patch(Node, name, {"status": {"allocatable": ALLOCATABLE}}, subresource="status")
