"""A node's way out of its cluster, with its own rights, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from podling import clock
from podling.api.core_v1 import Container, Node, Pod, PodSpec, Taint
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.client.base import Client
from podling.client.requests import User
from podling.cluster.joined.leaving import CannotLeave, drain, remove, to_evict
from podling.controllers.nodes.node_leave import NodeLeaveController
from podling.controllers.workloads.disruption import DisruptionController
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, make_ready, running

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))


def pod(name: str, node: str = "n1", owner: str = "", **metadata: str) -> Pod:
    owners = (
        (OwnerReference(api_version="v1", kind=owner, name="o", uid="u", controller=True),) if owner else ()
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            labels={"app": name},
            owner_references=owners,
            annotations=metadata,
        ),
        spec=PodSpec(node_name=node, containers=(Container(name="main", image="busybox"),)),
    )


def test_pods_of_the_machine_and_of_daemon_sets_stay() -> None:
    mirror = pod("c", **{"kubernetes.io/config.mirror": "x"})
    pods = (pod("a"), pod("b", owner="DaemonSet"), mirror, pod("d", owner="ReplicaSet"))
    assert [each.metadata.name for each in to_evict(pods)] == ["a", "d"]


@asynccontextmanager
async def kubelet(client: Client) -> AsyncIterator[None]:
    """Remove the pods of ``n1`` that are to end, as its kubelet would."""

    async def end_pods() -> None:
        while True:
            for each in (await client.list(Pod, field_selector="spec.nodeName=n1")).items:
                if each.metadata.deletion_timestamp is not None:
                    await client.delete(Pod, each.metadata.name or "", "default", grace_seconds=0)
            await clock.sleep(1)

    task = asyncio.create_task(end_pods())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def plane(cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
    """A control plane with the controllers of budgets and of leaving nodes, and a node with two pods."""
    async with running(cluster.client, DisruptionController, NodeLeaveController), kubelet(cluster.client):
        await add_node(cluster.client, "n1")
        for name in ("a", "b"):
            await cluster.client.create(pod(name))
        await cluster.client.create(pod("c", node="n2"))
        await make_ready(cluster.client)
        yield cluster


async def left(plane: ControlPlane) -> list[str]:
    return [each.metadata.name or "" for each in (await plane.client.list(Pod)).items]


async def test_drained_node_takes_no_pods_and_has_none(plane: ControlPlane) -> None:
    assert await drain(plane.client_for(NODE), "n1", 60) == 2
    assert await left(plane) == ["c"]
    assert (await plane.client.get(Node, "n1")).spec.unschedulable


async def test_budget_holds_a_pod_until_the_time_is_over(plane: ControlPlane) -> None:
    spec = PodDisruptionBudgetSpec(min_available=1, selector=LabelSelector(match_labels={"app": "a"}))
    await plane.client.create(
        PodDisruptionBudget(metadata=ObjectMeta(name="x", namespace="default"), spec=spec)
    )
    await plane.advance(seconds=1)
    started = clock.now()
    with pytest.raises(
        CannotLeave, match=r"have not ended: default/a \(Cannot evict pod .* disruption budget"
    ):
        await drain(plane.client_for(NODE), "n1", 30)
    assert 30 <= (clock.now() - started).total_seconds() < 33
    assert await left(plane) == ["a", "c"]
    await plane.client.delete(PodDisruptionBudget, "x", "default")
    assert await drain(plane.client_for(NODE), "n1", 30) == 1


async def test_removed_node_is_gone_with_its_pods(plane: ControlPlane) -> None:
    assert await remove(plane.client_for(NODE), "n1") == ""
    assert await left(plane) == ["c"]
    assert (await plane.client.list(Node)).items == ()


async def test_restrained_node_stays(plane: ControlPlane) -> None:
    taint = Taint(key="quarantine", effect="NoSchedule")
    plain = {"key": taint.key, "effect": taint.effect}
    await plane.client.patch(Node, "n1", {"spec": {"taints": [plain]}})
    why = "an administrator has given it the taint quarantine"
    assert await remove(plane.client_for(NODE), "n1") == why


async def test_node_takes_no_other_node_out(plane: ControlPlane) -> None:
    other = plane.client_for(User("system:node:n2", ("system:nodes", "system:authenticated")))
    for work in (drain(other, "n1", 1), remove(other, "n1")):
        with pytest.raises(ApiError) as error:
            await work
        assert error.value.code == 403
