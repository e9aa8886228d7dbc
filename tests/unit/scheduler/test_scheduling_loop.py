"""Stories of a scheduler whose requests take their time: what happens meanwhile, happens first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Binding, Event, Node, ObjectReference, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.client.base import Client, key_of
from podling.client.informer import Informer
from podling.machinery.pods import condition
from podling.scheduler.reports import Report, Reporter
from podling.testing import ControlPlane
from tests.unit.scheduler import scheduling
from tests.unit.scheduler.at_work import get, join, kill, node_of, pod, scheduler_for, told

FAILED = 'Warning FailedScheduling running Bind plugin "DefaultBinder":'


class Distant:
    """A client whose writes to pods take a second on their way: what happens meanwhile, happens first."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create_subresource(self, *arguments: Any, **options: Any) -> Any:
        await clock.sleep(1)
        return await self._client.create_subresource(*arguments, **options)

    async def delete(self, *arguments: Any, **options: Any) -> Any:
        await clock.sleep(1)
        return await self._client.delete(*arguments, **options)


class SlowToListNodes(Distant):
    """The same, for reading: the nodes are known a second after the pods."""

    async def list(self, kind: type[Any], *arguments: Any, **options: Any) -> Any:
        if kind is Node:
            await clock.sleep(1)
        return await self._client.list(kind, *arguments, **options)


async def test_nothing_is_decided_before_all_is_known(cluster: ControlPlane) -> None:
    await join(cluster, scheduling.node("n"))
    await cluster.client.create(pod("a"))
    async with scheduler_for(cast("Client", SlowToListNodes(cluster.client))):
        await cluster.advance(seconds=5)
    assert await told(cluster, "a") == ["Normal Scheduled Successfully assigned default/a to n"]


async def test_of_several_reports_in_a_row_all_that_is_news_is_written(cluster: ControlPlane) -> None:
    made = await cluster.client.create(pod("a"))
    pods = Informer(cluster.client, Pod)
    reporter = Reporter(cluster.client, pods)
    tasks = [asyncio.ensure_future(pods.run()), asyncio.ensure_future(reporter.run())]
    await pods.synced()
    uid, key = made.metadata.uid or "", key_of(made)
    reporter.report(key, Report(uid, "Unschedulable", "first", nominated="n"))
    reporter.report(key, Report(uid, "Unschedulable", "second"))
    await cluster.advance(seconds=1)
    for task in tasks:
        task.cancel()
    written = await get(cluster, "a")
    scheduled = condition(written, "PodScheduled")
    assert scheduled is not None
    assert (scheduled.message, written.status.nominated_node_name) == ("second", "n")


class TestWhileAWriteIsOnItsWay:
    @pytest.fixture
    async def distant(self, cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
        """Capacity for one pod, and a scheduler with a slow connection."""
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name="p100"), value=100))
        await join(cluster, scheduling.node("n", cpu="1"))
        async with scheduler_for(cast("Client", Distant(cluster.client))):
            yield cluster

    async def test_a_pod_that_changes_is_not_decided_on_twice(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        await distant.client.patch(Pod, "a", {"metadata": {"labels": {"new": "yes"}}}, "default")
        await distant.advance(seconds=5)
        assert await node_of(distant, "a") == "n"
        assert await told(distant, "a") == ["Normal Scheduled Successfully assigned default/a to n"]

    async def test_deleted_pod_frees_its_node(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        await distant.client.delete(Pod, "a", "default", grace_seconds=0)
        await distant.client.create(pod("b"))
        await distant.advance(seconds=5)
        assert await node_of(distant, "b") == "n"
        assert await told(distant, "a") == [f'{FAILED} pods "a" not found']

    async def test_pod_that_is_being_deleted_frees_its_node_at_once(self, distant: ControlPlane) -> None:
        made = pod("a")
        kept = structs.replace(made.metadata, finalizers=("example.com/keep",))
        await distant.client.create(structs.replace(made, metadata=kept))
        await distant.advance(seconds=0.3)
        await distant.client.delete(Pod, "a", "default", grace_seconds=0)
        await distant.client.create(pod("b"))
        await distant.advance(seconds=1.5)
        assert await node_of(distant, "b") == "n"
        await distant.advance(seconds=20)
        assert (await told(distant, "a"))[0].startswith(FAILED)
        assert await node_of(distant, "a") == ""

    async def test_pod_bound_by_another_client_is_left_alone(self, distant: ControlPlane) -> None:
        await distant.client.create(pod("a"))
        await distant.advance(seconds=0.5)
        target = ObjectReference(kind="Node", name="elsewhere")
        by_hand = Binding(metadata=ObjectMeta(name="a", namespace="default"), target=target)
        await distant.client.create_subresource(Pod, "a", "binding", by_hand, "default")
        await distant.client.create(pod("b"))
        await distant.advance(seconds=5)
        assert [await node_of(distant, name) for name in ("a", "b")] == ["elsewhere", "n"]
        taken = 'pod a is already assigned to node "elsewhere"'
        assert await told(distant, "a") == [
            f'{FAILED} Operation cannot be fulfilled on pods/binding "a": {taken}'
        ]
        placed = condition(await get(distant, "a"), "PodScheduled")
        assert placed is not None
        assert placed.status == "True"

    async def test_preemptor_is_not_retried_before_all_victims_are_deleted(
        self, distant: ControlPlane
    ) -> None:
        await distant.client.create(pod("low"))
        await distant.advance(seconds=2)
        await distant.client.create(pod("high", priority_class_name="p100"))
        await distant.advance(seconds=0.5)
        await distant.client.patch(Pod, "high", {"metadata": {"labels": {"new": "yes"}}}, "default")
        await distant.advance(seconds=0.4)
        assert await told(distant, "high") == [
            "Warning FailedScheduling 0/1 nodes are available: 1 Insufficient cpu."
        ]
        [event] = [
            event
            for event in (await distant.client.list(Event, "default")).items
            if event.involved_object.name == "high"
        ]
        assert event.count == 1
        await distant.advance(seconds=5)
        await kill(distant, "low")
        await distant.advance(seconds=5)
        assert await node_of(distant, "high") == "n"
