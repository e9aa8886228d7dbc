"""Pods on tainted nodes: the cases of upstream's ``taint_eviction_test.go``."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import Node, NodeSpec, Pod, Taint, Toleration
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.controllers.nodes.taint_eviction import TaintEvictionController
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, bind_pod, pod, running, told

FOREVER = -1
Tolerated = dict[int, int]
"""The seconds for which a taint is tolerated, by its number; ``FOREVER`` without an end."""


def taint(number: int) -> dict[str, str]:
    return {"key": f"taint{number}", "value": f"test{number}", "effect": "NoExecute"}


async def set_taints(client: Client, *numbers: int) -> None:
    await client.patch(Node, "node1", {"spec": {"taints": [taint(each) for each in numbers] or None}})


def tolerations(tolerated: Tolerated) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            key=f"taint{number}",
            value=f"test{number}",
            effect="NoExecute",
            toleration_seconds=None if seconds == FOREVER else seconds,
        )
        for number, seconds in tolerated.items()
    )


async def create(client: Client, name: str, node: str, tolerated: Tolerated) -> None:
    await client.create(pod(name, node=node, tolerations=tolerations(tolerated)))


async def tolerate(client: Client, name: str, tolerated: Tolerated) -> None:
    """Add tolerations to a pod; those that it has cannot be taken away."""
    held = await client.get(Pod, name, "default")
    added = (*held.spec.tolerations, *tolerations(tolerated))
    await client.update(structs.replace(held, spec=structs.replace(held.spec, tolerations=added)))


async def marked(client: Client) -> list[str]:
    """Return the pods that are being deleted; each has the condition that says why."""
    found = []
    for each in (await client.list(Pod, "default")).items:
        target = find(each.status.conditions, "DisruptionTarget")
        leaves = each.metadata.deletion_timestamp is not None
        assert leaves == (target is not None)
        if target is not None:
            assert target.reason == "DeletionByTaintManager"
            found.append(each.metadata.name or "")
    return found


@pytest.mark.parametrize(
    ("node", "taints", "tolerated", "leaves"),
    [
        pytest.param("", (1,), {}, False, id="not placed"),
        pytest.param("node1", (), {}, False, id="no taint"),
        pytest.param("node1", (1,), {}, True, id="not tolerated"),
        pytest.param("node1", (1,), {1: 100}, False, id="tolerated for a time"),
        pytest.param("node1", (1,), {1: FOREVER}, False, id="tolerated for ever"),
        pytest.param("node1", (1,), {2: FOREVER}, True, id="another taint is tolerated"),
    ],
)
@pytest.mark.parametrize("order", ["pod first", "taint first", "controller last", "node last"])
async def test_pod_and_taints_in_any_order(
    cluster: ControlPlane, node: str, taints: tuple[int, ...], tolerated: Tolerated, leaves: bool, order: str
) -> None:
    """Cases of TestCreatePod, TestCreateNode and TestUpdateNode."""
    client = cluster.client
    if order != "node last":
        await add_node(client, "node1")
    if order == "controller last":
        await set_taints(client, *taints)
        await create(client, "pod1", node, tolerated)
    async with running(client, TaintEvictionController):
        if order == "pod first":
            await create(client, "pod1", node, tolerated)
            await cluster.advance(seconds=1)
            await set_taints(client, *taints)
        elif order == "taint first":
            await set_taints(client, *taints)
            await create(client, "pod1", node, tolerated)
        elif order == "node last":
            await create(client, "pod1", node, tolerated)
            await cluster.advance(seconds=1)
            every = tuple(
                Taint(key=f"taint{each}", value=f"test{each}", effect="NoExecute") for each in taints
            )
            await client.create(Node(metadata=ObjectMeta(name="node1"), spec=NodeSpec(taints=every)))
        await cluster.advance(seconds=1)
        assert await marked(client) == (["pod1"] if leaves else [])
        text = "Normal TaintManagerEviction pod1: Marking for deletion Pod default/pod1"
        assert await told(client) == ([text] if leaves else [])


@pytest.mark.parametrize(("tolerated", "leaves"), [({}, True), ({1: FOREVER}, False), ({1: 100}, False)])
async def test_pod_that_is_placed_on_a_tainted_node(
    cluster: ControlPlane, tolerated: Tolerated, leaves: bool
) -> None:
    """Cases of TestUpdatePod and TestEventualConsistency."""
    client = cluster.client
    await add_node(client, "node1")
    async with running(client, TaintEvictionController):
        await create(client, "pod1", "node1", {})
        await create(client, "pod2", "", tolerated)
        await set_taints(client, 1)
        await cluster.advance(seconds=1)
        assert await marked(client) == ["pod1"]
        await bind_pod(client, await client.get(Pod, "pod2", "default"), "node1")
        await cluster.advance(seconds=1)
        assert await marked(client) == (["pod1", "pod2"] if leaves else ["pod1"])


@pytest.mark.parametrize(
    ("taints", "tolerated", "leaves_after"),
    [
        pytest.param((1, 2), {1: 100}, 0, id="one of two is tolerated"),
        pytest.param((1, 2), {1: 1, 2: 100}, 1, id="the first time that runs out counts"),
        pytest.param((1, 2), {1: 100, 2: 1}, 1, id="whichever taint it is of"),
        pytest.param((1, 2), {1: FOREVER, 2: 60}, 60, id="one for ever, one for a time"),
        pytest.param((1, 2), {1: 60, 2: FOREVER}, 60, id="one for a time, one for ever"),
        pytest.param((1,), {1: 0}, 0, id="for no time"),
    ],
)
async def test_pod_leaves_when_its_time_is_over(
    cluster: ControlPlane, taints: tuple[int, ...], tolerated: Tolerated, leaves_after: int
) -> None:
    """Cases of TestUpdateNode and TestGetMinTolerationTime."""
    client = cluster.client
    await add_node(client, "node1")
    async with running(client, TaintEvictionController):
        await create(client, "pod1", "node1", tolerated)
        await set_taints(client, *taints)
        if leaves_after:
            await cluster.advance(seconds=leaves_after - 0.1)
            assert await marked(client) == []
        await cluster.advance(seconds=0.2)
        assert await marked(client) == ["pod1"]


async def test_longer_toleration_does_not_move_the_deadline(cluster: ControlPlane) -> None:
    client = cluster.client
    await add_node(client, "node1")
    async with running(client, TaintEvictionController):
        await create(client, "pod1", "node1", {1: 10})
        await set_taints(client, 1)
        await cluster.advance(seconds=5)
        held = await client.get(Pod, "pod1", "default")
        longer = structs.replace(held.spec, tolerations=(*tolerations({1: 100}), *held.spec.tolerations))
        await client.update(structs.replace(held, spec=longer))
        await cluster.advance(seconds=4.9)
        assert await marked(client) == []
        await cluster.advance(seconds=0.2)
        assert await marked(client) == ["pod1"]


async def test_pod_is_in_danger_only_while_a_taint_is_tolerated_for_a_time(cluster: ControlPlane) -> None:
    """TestUpdateNodeWithMultipleTaints, and the case of a taint that is removed."""
    client = cluster.client
    await add_node(client, "node1")
    async with running(client, TaintEvictionController):
        await create(client, "pod1", "node1", {1: FOREVER, 2: 60})
        for numbers in ((), (1,), (1, 2), (1,)):
            await set_taints(client, *numbers)
            await cluster.advance(seconds=30)
        await cluster.advance(minutes=5)
        assert await marked(client) == []
        text = "Normal TaintManagerEviction pod1: Cancelling deletion of Pod default/pod1"
        assert await told(client) == [text]


@pytest.mark.parametrize(
    ("taints", "steps"),
    [
        pytest.param((1,), [(0.5, ["pod1"]), (1.5, ["pod1", "pod2"])], id="by their times"),
        pytest.param((1, 2), [(0.5, ["pod1", "pod2", "pod3"])], id="no pod tolerates both"),
    ],
)
async def test_pods_of_a_node_leave_by_their_tolerations(
    cluster: ControlPlane, taints: tuple[int, ...], steps: list[tuple[float, list[str]]]
) -> None:
    """Cases of TestUpdateNodeWithMultiplePods."""
    client = cluster.client
    await add_node(client, "node1")
    async with running(client, TaintEvictionController):
        for name, tolerated in (("pod1", {}), ("pod2", {1: 1}), ("pod3", {1: FOREVER})):
            await create(client, name, "node1", tolerated)
        await set_taints(client, *taints)
        passed = 0.0
        for moment, names in steps:
            await cluster.advance(seconds=moment - passed)
            passed = moment
            assert await marked(client) == names
        await cluster.advance(minutes=5)
        assert await marked(client) == steps[-1][1]
