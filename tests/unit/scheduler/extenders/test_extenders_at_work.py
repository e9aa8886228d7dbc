"""A scheduler with extenders: placements, events, and changes while an extender works."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from podling.api.core_v1 import (
    Binding,
    Container,
    Event,
    Node,
    ObjectReference,
    Pod,
    ResourceRequirements,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.machinery.pods import condition
from podling.scheduler.configuration.files import configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import SCHEDULER, get, join, node_of, pod, scheduler_for, told
from tests.unit.scheduler.extenders.remote import Remote, only, prefer

Running = Callable[..., Any]


@pytest.fixture
async def with_extenders(cluster: ControlPlane) -> Running:
    """Return what starts a scheduler whose extenders are this program, with one configuration each."""

    @asynccontextmanager
    async def running(remote: Remote, *extenders: dict[str, Any]) -> AsyncIterator[None]:
        found = [{"urlPrefix": "http://extender", **each} for each in extenders]
        document = {"apiVersion": API_VERSION, "kind": KIND, "extenders": found}
        chosen = configuration_of(document, "test")
        client = cluster.client_for(SCHEDULER)
        async with scheduler_for(client, chosen, connect=lambda _: remote.send):
            yield

    return running


FILTER = {"filterVerb": "filter", "nodeCacheCapable": True}


async def test_pod_gets_the_node_that_extenders_leave_and_prefer(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    for name in ("a", "b", "c"):
        await join(cluster, scheduling.node(name))
    remote = Remote(filter=only("a", "b"), score=prefer(b=10))
    async with with_extenders(remote, {**FILTER, "prioritizeVerb": "score", "weight": 5}):
        await cluster.client.create(pod("p"))
        await cluster.advance(seconds=1)
    assert await node_of(cluster, "p") == "b"
    assert remote.verbs == ["filter", "score"]


async def test_rejected_pod_says_why_and_is_tried_again_after_any_change(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    await join(cluster, scheduling.node("a"))
    remote = Remote(filter=only("b", FailedNodes={"a": "node(s) had no licence"}))
    async with with_extenders(remote, FILTER):
        await cluster.client.create(pod("p"))
        await cluster.advance(seconds=1)
        assert await told(cluster, "p") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 node(s) had no licence. preemption: "
            "0/1 nodes are available: 1 No preemption victims found for incoming pod."
        ]
        await join(cluster, scheduling.node("b"))
        await cluster.advance(seconds=5)
    assert await node_of(cluster, "p") == "b"


async def test_failure_of_an_extender_is_an_error_and_tried_again(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    await join(cluster, scheduling.node("a"))
    remote = Remote(filter=lambda _: 500)
    async with with_extenders(remote, FILTER):
        await cluster.client.create(pod("p"))
        await cluster.advance(seconds=0.5)
        text = "failed filter with extender at URL http://extender/filter, code 500"
        assert await told(cluster, "p") == [f"Warning FailedScheduling {text}"]
        found = condition(await get(cluster, "p"), "PodScheduled")
        assert found is not None
        assert (found.reason, found.message) == ("SchedulerError", text)
        remote.replies = {"filter": only("a")}
        await cluster.advance(seconds=1)
    assert await node_of(cluster, "p") == "a"


async def test_extender_binds_in_place_of_the_plugin(cluster: ControlPlane, with_extenders: Running) -> None:
    await join(cluster, scheduling.node("a"))
    bound: list[dict[str, Any]] = []

    def bind(request: dict[str, Any]) -> Any:
        bound.append(request)
        return {}

    async with with_extenders(Remote(bind=bind), {"bindVerb": "bind"}):
        made = await cluster.client.create(pod("p"))
        await cluster.advance(seconds=1)
        assert await node_of(cluster, "p") == ""
        target = Binding(
            metadata=ObjectMeta(name="p", namespace="default"), target=ObjectReference(kind="Node", name="a")
        )
        await cluster.client.create_subresource(Pod, "p", "binding", target, "default")
        await cluster.advance(seconds=1)
    [request] = bound
    assert request["PodUID"] == made.metadata.uid
    assert await told(cluster, "p") == ["Normal Scheduled Successfully assigned default/p to a"]


async def test_resource_ignored_by_the_scheduler_is_left_to_its_extender(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    await join(cluster, scheduling.node("a"))
    remote = Remote(filter=only("a"))
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    limits = ResourceRequirements(limits={"example.com/gpu": "1"})
    async with with_extenders(remote, {**FILTER, "managedResources": managed}):
        wants = Container(name="c", image="app", resources=limits)
        await cluster.client.create(pod("p", containers=(wants,)))
        await cluster.client.create(pod("plain"))
        await cluster.advance(seconds=1)
    assert [await node_of(cluster, name) for name in ("p", "plain")] == ["a", "a"]
    assert remote.verbs == ["filter"]


async def test_extender_chooses_among_the_victims_of_preemption(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    for value in (1, 10):
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=f"p{value}"), value=value))
    for name in ("a", "b"):
        await join(cluster, scheduling.node(name, cpu="1"))

    def keep_a(request: dict[str, Any]) -> Any:
        return {"NodeNameToMetaVictims": {"a": request["NodeNameToMetaVictims"]["a"]}}

    remote = Remote(preempt=keep_a)
    async with with_extenders(remote, {"preemptVerb": "preempt", "nodeCacheCapable": True}):
        for name in ("low-1", "low-2"):
            await cluster.client.create(pod(name, priority_class_name="p1"))
        await cluster.advance(seconds=1)
        [on_a] = [name for name in ("low-1", "low-2") if await node_of(cluster, name) == "a"]
        await cluster.client.create(pod("high", priority_class_name="p10"))
        await cluster.advance(seconds=1)
        assert (await get(cluster, "high")).status.nominated_node_name == "a"
        assert (await get(cluster, on_a)).metadata.deletion_timestamp is not None
        await cluster.client.delete(Pod, on_a, "default", grace_seconds=0)
        await cluster.advance(seconds=1)
    assert await node_of(cluster, "high") == "a"


class TestWhileAnExtenderWorks:
    """The extender answers after a second."""

    async def test_change_that_helps_is_not_missed(
        self, cluster: ControlPlane, with_extenders: Running
    ) -> None:
        await join(cluster, scheduling.node("a"))
        async with with_extenders(Remote(1, filter=only("b")), FILTER):
            await cluster.client.create(pod("p"))
            await cluster.advance(seconds=0.5)
            await join(cluster, scheduling.node("b"))
            await cluster.advance(seconds=6)
        assert await node_of(cluster, "p") == "b"

    async def test_pod_that_changes_is_decided_on_once(
        self, cluster: ControlPlane, with_extenders: Running
    ) -> None:
        await join(cluster, scheduling.node("a"))
        remote = Remote(1, filter=only("a"))
        async with with_extenders(remote, FILTER):
            await cluster.client.create(pod("p"))
            await cluster.advance(seconds=0.5)
            await cluster.client.patch(Pod, "p", {"metadata": {"labels": {"new": "yes"}}}, "default")
            await cluster.advance(seconds=5)
        assert await node_of(cluster, "p") == "a"
        assert remote.verbs == ["filter"]

    async def test_own_change_that_helps_is_not_missed(
        self, cluster: ControlPlane, with_extenders: Running
    ) -> None:
        await join(cluster, scheduling.node("a"))

        def labelled(request: dict[str, Any]) -> Any:
            return only("a" if "new" in request["Pod"]["metadata"].get("labels", {}) else "")(request)

        async with with_extenders(Remote(1, filter=labelled), FILTER):
            await cluster.client.create(pod("p"))
            await cluster.advance(seconds=0.5)
            await cluster.client.patch(Pod, "p", {"metadata": {"labels": {"new": "yes"}}}, "default")
            await cluster.advance(seconds=6)
        assert await node_of(cluster, "p") == "a"

    async def test_deleted_pod_is_forgotten(self, cluster: ControlPlane, with_extenders: Running) -> None:
        await join(cluster, scheduling.node("a"))
        async with with_extenders(Remote(1, filter=only("a")), FILTER):
            await cluster.client.create(pod("p"))
            await cluster.advance(seconds=0.5)
            await cluster.client.delete(Pod, "p", "default", grace_seconds=0)
            await cluster.advance(seconds=5)
        assert (await cluster.client.list(Event, "default")).items == ()

    async def test_deleted_node_is_not_chosen(self, cluster: ControlPlane, with_extenders: Running) -> None:
        for name in ("a", "b"):
            await join(cluster, scheduling.node(name))
        async with with_extenders(Remote(1, filter=only("a", "b"), score=prefer(a=10)), FILTER):
            await cluster.client.create(pod("p"))
            await cluster.advance(seconds=0.5)
            await cluster.client.delete(Node, "a")
            await cluster.advance(seconds=5)
        assert await node_of(cluster, "p") == "b"


async def test_node_that_only_an_extender_rejects_is_not_nominated(
    cluster: ControlPlane, with_extenders: Running
) -> None:
    """Without a victim there is nothing to gain: the pod would wait for a node that it does not get."""
    await cluster.client.create(PriorityClass(metadata=ObjectMeta(name="p100"), value=100))
    await join(cluster, scheduling.node("n"))
    await cluster.client.create(pod("low", node_name="n"))
    remote = Remote(filter=only(FailedNodes={"n": "no license"}))
    async with with_extenders(remote, FILTER):
        await cluster.client.create(pod("p", priority_class_name="p100"))
        await cluster.advance(seconds=1)
        found = await get(cluster, "p")
        scheduled = condition(found, "PodScheduled")
        assert scheduled is not None
        assert scheduled.message == (
            '0/1 nodes are available: 1 no license. preemption: expected at least one victim pod on node "n"'
        )
        assert found.status.nominated_node_name == ""
