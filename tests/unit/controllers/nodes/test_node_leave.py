"""Nodes that request their deletion."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node, NodeSpec, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.nodes.node_leave import NodeLeaveController, restraint
from podling.testing import ControlPlane
from tests.support.control_loops import running


def node(labels: dict[str, str] | None = None, *taints: str) -> Node:
    spec = NodeSpec(taints=tuple(Taint(key=key, effect="NoSchedule") for key in taints))
    return Node(metadata=ObjectMeta(name="n1", labels=labels or {}), spec=spec)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (node(), ""),
        (node({"kubernetes.io/hostname": "n1", "mine": "x", "node-role.kubernetes.io/worker": ""}), ""),
        (node({}, "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"), ""),
        (node({}, "quarantine"), "taint quarantine"),
        (node({}, "example.org/node.kubernetes.io"), "taint example.org/node.kubernetes.io"),
        (node({"node-restriction.kubernetes.io/fips": "1"}), "label node-restriction.kubernetes.io/fips"),
        (node({"a.node-restriction.kubernetes.io/b": "1"}), "label a.node-restriction.kubernetes.io/b"),
    ],
)
def test_restraints_of_administrators(found: Node, expected: str) -> None:
    assert restraint(found) == expected


@pytest.mark.parametrize(
    ("found", "leaves", "stays"),
    [(node(), False, True), (node(), True, False), (node({}, "quarantine"), True, True)],
)
async def test_only_unrestrained_nodes_are_deleted(
    cluster: ControlPlane, found: Node, leaves: bool, stays: bool
) -> None:
    async with running(cluster.client, NodeLeaveController):
        await cluster.client.create(found)
        await cluster.client.patch(Node, "n1", {"spec": {"taints": [
            {"key": each.key, "effect": each.effect} for each in found.spec.taints
        ]}})  # fmt: skip
        if leaves:
            await cluster.client.patch(
                Node, "n1", {"metadata": {"annotations": {"podling.dev/leaves": "true"}}}
            )
        await cluster.advance(seconds=1)
        assert bool((await cluster.client.list(Node)).items) is stays


async def test_restrained_node_is_deleted_once_it_is_free(cluster: ControlPlane) -> None:
    async with running(cluster.client, NodeLeaveController):
        await cluster.client.create(node({"node-restriction.kubernetes.io/fips": "1"}))
        patch = {"metadata": {"annotations": {"podling.dev/leaves": "true"}}}
        await cluster.client.patch(Node, "n1", patch)
        await cluster.advance(seconds=1)
        free = {"metadata": {"labels": {"node-restriction.kubernetes.io/fips": None}}}
        await cluster.client.patch(Node, "n1", free)
        await cluster.advance(seconds=1)
        assert (await cluster.client.list(Node)).items == ()
