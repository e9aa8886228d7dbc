"""The time for which kubelets may cache, by the number of nodes."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node
from podling.controllers.nodes.ttl import ANNOTATION, TTLController, step_for
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, heartbeat, running


@pytest.mark.parametrize(
    ("nodes", "before", "step"),
    [
        (1, 0, 0),
        (100, 0, 0),
        (101, 0, 1),
        (95, 1, 1),
        (89, 1, 0),
        (5000, 0, 4),
        (20000, 4, 4),
        (3, 4, 0),
        (90, 1, 1),
        (500, 1, 1),
        (501, 1, 2),
        (0, 0, 0),
        (92, 1, 1),
        (100, 1, 1),
    ],
)
def test_step_for_a_number_of_nodes(nodes: int, before: int, step: int) -> None:
    assert step_for(nodes, before) == step


async def test_nodes_are_annotated_and_follow_the_size_of_the_cluster(cluster: ControlPlane) -> None:
    async def annotation(name: str) -> str | None:
        return (await cluster.client.get(Node, name)).metadata.annotations.get(ANNOTATION)

    async with running(cluster.client, TTLController):
        await add_node(cluster.client, "first")
        await cluster.advance(seconds=1)
        assert await annotation("first") == "0"
        for number in range(100):
            await add_node(cluster.client, f"n{number}")
        await cluster.advance(seconds=1)
        assert await annotation("n99") == "15"
        assert await annotation("first") == "0", "it has not reported since"
        await heartbeat(cluster.client, "first")
        await cluster.advance(seconds=1)
        assert await annotation("first") == "15"
        for number in range(20):
            await cluster.client.delete(Node, f"n{number}")
        await cluster.advance(seconds=1)
        await heartbeat(cluster.client, "first")
        await cluster.advance(seconds=1)
        assert await annotation("first") == "0"


async def test_annotation_of_another_writer_is_replaced(cluster: ControlPlane) -> None:
    async with running(cluster.client, TTLController):
        await add_node(cluster.client, "n1")
        for text in ("30", "soon", None):
            await cluster.client.patch(Node, "n1", {"metadata": {"annotations": {ANNOTATION: text}}})
            await cluster.advance(seconds=1)
            node = await cluster.client.get(Node, "n1")
            assert node.metadata.annotations[ANNOTATION] == "0"
