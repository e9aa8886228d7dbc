"""Watches beyond the plain stream: how they begin, bookmarks, how they end, and many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import Binding, ConfigMap, Container, ObjectReference, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.watch_index import Feeds
from podling.client.requests import SYSTEM, ListOptions, Target
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.base import WatchOverflow
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane

MAPS = Target(resource_of(ConfigMap), "default")


async def make(cluster: ControlPlane, *names: str) -> None:
    for name in names:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


async def everything(watch: AsyncIterator[Any]) -> list[tuple[str, str | None]]:
    """The events of a watch that ends."""
    return [(event.type.value, event.object.metadata.name) async for event in watch]


async def test_without_a_revision_it_begins_with_what_there_is(cluster: ControlPlane) -> None:
    await make(cluster, "b", "a")
    watch = cluster.backend.watch(MAPS, SYSTEM, ListOptions(timeout_seconds=1))
    await make(cluster, "c")
    assert await everything(watch) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_initial_events_end_with_a_marked_bookmark(cluster: ControlPlane) -> None:
    await make(cluster, "a")
    options = ListOptions(bookmarks=True, send_initial_events=True, resource_version_match="NotOlderThan")
    watch = cluster.backend.watch(MAPS, SYSTEM, options)
    assert (await anext(watch)).type.value == "ADDED"
    end = await anext(watch)
    assert end.type.value == "BOOKMARK"
    assert end.object.metadata.annotations == {"k8s.io/initial-events-end": "true"}
    assert end.object.metadata.resource_version == str(cluster.store.revision)


async def test_initial_events_can_be_declined(cluster: ControlPlane) -> None:
    await make(cluster, "a")
    options = ListOptions(send_initial_events=False, timeout_seconds=1)
    assert await everything(cluster.backend.watch(MAPS, SYSTEM, options)) == []


async def test_bookmarks_come_every_minute_and_at_the_end(cluster: ControlPlane) -> None:
    start = str(cluster.store.revision)
    options = ListOptions(bookmarks=True, timeout_seconds=150, resource_version=start)
    watch = cluster.backend.watch(MAPS, SYSTEM, options)
    assert await everything(watch) == [("BOOKMARK", "")] * 3


async def test_a_bookmark_tells_of_what_was_skipped(cluster: ControlPlane) -> None:
    options = ListOptions(
        bookmarks=True, resource_version=str(cluster.store.revision), label_selector="no=match"
    )
    watch = cluster.backend.watch(MAPS, SYSTEM, options)
    await make(cluster, "a", "b")
    bookmark = await anext(watch)
    assert bookmark.object.metadata.resource_version == str(cluster.store.revision)


async def test_a_future_revision_is_waited_for(cluster: ControlPlane) -> None:
    future = str(cluster.store.revision + 2)
    watch = cluster.backend.watch(MAPS, SYSTEM, ListOptions(resource_version=future, timeout_seconds=5))
    await make(cluster, "a", "b", "c")
    assert await everything(watch) == [("ADDED", "c")]


async def test_the_present_of_the_future_is_not_waited_for(cluster: ControlPlane) -> None:
    options = ListOptions(
        resource_version="999999", resource_version_match="NotOlderThan", send_initial_events=True
    )
    with pytest.raises(ApiError) as error:
        cluster.backend.watch(MAPS, SYSTEM, options)
    assert (error.value.code, error.value.reason) == (504, "Timeout")
    now = cluster.store.revision
    assert str(error.value) == f"Timeout: Too large resource version: 999999, current: {now}"


async def test_one_object_by_name(cluster: ControlPlane) -> None:
    await make(cluster, "a", "ab")
    options = ListOptions(field_selector="metadata.name=a", timeout_seconds=1)
    assert await everything(cluster.backend.watch(MAPS, SYSTEM, options)) == [("ADDED", "a")]


@pytest.mark.parametrize("shown", [True, False])
async def test_the_end_is_told_to_those_who_saw_the_object(cluster: ControlPlane, shown: bool) -> None:
    """Its last write takes the finalizer away and changes the label, too: that decides nothing any more."""
    labels = {"shown": "yes"} if shown else {}
    metadata = ObjectMeta(name="a", namespace="default", labels=labels, finalizers=("example.com/f",))
    await cluster.client.create(ConfigMap(metadata=metadata))
    await cluster.client.delete(ConfigMap, "a", "default")
    options = ListOptions(
        resource_version=str(cluster.store.revision), label_selector="shown=yes", timeout_seconds=1
    )
    watch = cluster.backend.watch(MAPS, SYSTEM, options)
    last = {"metadata": {"finalizers": None, "labels": {"shown": None if shown else "yes"}}}
    await cluster.client.patch(ConfigMap, "a", last, "default")
    assert await everything(watch) == ([("DELETED", "a")] if shown else [])


async def test_closing_the_store_ends_it(cluster: ControlPlane) -> None:
    watch = cluster.backend.watch(MAPS, SYSTEM, ListOptions(resource_version=str(cluster.store.revision)))
    waiting = asyncio.ensure_future(everything(watch))
    await cluster.advance(seconds=1)
    await cluster.store.close()
    assert await waiting == []


class TestOneNodesPods:
    """Every kubelet watches its own node's pods; they share one feed."""

    @staticmethod
    async def bound(cluster: ControlPlane, name: str, node: str) -> None:
        spec = PodSpec(containers=(Container(name="c", image="i"),))
        await cluster.client.create(Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))
        body = Binding(
            metadata=ObjectMeta(name=name, namespace="default"),
            target=ObjectReference(kind="Node", name=node),
        )
        await cluster.client.create_subresource(Pod, name, "binding", body, "default")

    @staticmethod
    def watch(cluster: ControlPlane, node: str, after: str) -> AsyncIterator[Any]:
        selector = f"spec.nodeName={node}"
        return cluster.client.watch(Pod, None, resource_version=after, field_selector=selector)

    async def test_each_sees_its_own(self, cluster: ControlPlane) -> None:
        start = str(cluster.store.revision)
        watches = {node: self.watch(cluster, node, start) for node in ("n1", "n2")}
        await self.bound(cluster, "a", "n1")
        await self.bound(cluster, "b", "n2")
        seen = {node: (await anext(watch)).object.metadata.name for node, watch in watches.items()}
        assert seen == {"n1": "a", "n2": "b"}

    async def test_a_late_watch_gets_what_it_missed(self, cluster: ControlPlane) -> None:
        start = str(cluster.store.revision)
        early = self.watch(cluster, "n1", start)
        await self.bound(cluster, "a", "n1")
        assert (await anext(early)).type.value == "ADDED"
        late = self.watch(cluster, "n1", start)
        await cluster.client.delete(Pod, "a", "default", grace_seconds=0)
        await self.bound(cluster, "b", "n1")
        wanted = [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
        for watch, events in ((late, wanted), (early, wanted[1:])):
            got = [await anext(watch) for _ in events]
            assert [(each.type.value, each.object.metadata.name) for each in got] == events

    async def test_too_old_a_start_is_expired(self, cluster: ControlPlane) -> None:
        await self.bound(cluster, "a", "n1")
        await cluster.advance(minutes=11)
        with pytest.raises(ApiError) as error:
            self.watch(cluster, "n1", "1")
        assert error.value.reason == "Expired"


async def test_a_reader_that_never_reads_is_cut_off() -> None:
    """The feed itself, over a bare store: a reader may be so many events behind and no more."""
    store = MemoryStore()
    feeds = Feeds(store, capacity=3)
    slow, quick = (
        feeds.watch("/a/", "value", "x", value_of=lambda entry: entry.value.decode(), after=0)
        for _ in range(2)
    )
    for number in range(4):
        await store.put(f"/a/{number}", lambda _: b"x", expect=0)
        assert (await anext(quick)).entry.key == f"/a/{number}"
    with pytest.raises(WatchOverflow):
        slow.ready()
    quick.close()
    await store.close()
