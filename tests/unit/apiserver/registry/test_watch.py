"""Watches: initial events, bookmarks, their end, and many watches of one kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import (
    Binding,
    ConfigMap,
    Container,
    ObjectReference,
    Pod,
    PodSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.decoding import LOOK_BYTES
from podling.apiserver.registry.watch import AT_ONCE
from podling.apiserver.registry.watch_index import Feeds
from podling.client.base import WatchEventType
from podling.client.requests import SYSTEM, ListOptions, Target
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.sim.loop import EPOCH
from podling.sim.wound_loop import WoundLoop
from podling.store.base import WatchOverflow
from podling.store.memory import MemoryStore
from podling.testing import ControlPlane, memory_cluster
from podling.turns import TURN_BYTES
from podling.winding import Winding
from tests.support.loop_turns import LoopTurns

MAPS = Target(resource_of(ConfigMap), "default")


async def make(cluster: ControlPlane, *names: str) -> None:
    for name in names:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))


async def everything(watch: AsyncIterator[Any]) -> list[tuple[str, str | None]]:
    """Return the events of a watch that ends."""
    return [(event.type.value, event.object.metadata.name) async for event in watch]


async def test_watch_without_a_revision_begins_with_existing_objects(cluster: ControlPlane) -> None:
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


async def test_bookmark_has_the_revision_of_skipped_events(cluster: ControlPlane) -> None:
    options = ListOptions(
        bookmarks=True, resource_version=str(cluster.store.revision), label_selector="no=match"
    )
    watch = cluster.backend.watch(MAPS, SYSTEM, options)
    await make(cluster, "a", "b")
    bookmark = await anext(watch)
    assert bookmark.object.metadata.resource_version == str(cluster.store.revision)


async def test_watch_waits_for_a_future_revision(cluster: ControlPlane) -> None:
    future = str(cluster.store.revision + 2)
    watch = cluster.backend.watch(MAPS, SYSTEM, ListOptions(resource_version=future, timeout_seconds=5))
    await make(cluster, "a", "b", "c")
    assert await everything(watch) == [("ADDED", "c")]


async def test_initial_events_of_a_future_revision_time_out(cluster: ControlPlane) -> None:
    options = ListOptions(
        resource_version="999999", resource_version_match="NotOlderThan", send_initial_events=True
    )
    with pytest.raises(ApiError) as error:
        cluster.backend.watch(MAPS, SYSTEM, options)
    assert (error.value.code, error.value.reason) == (504, "Timeout")
    now = cluster.store.revision
    assert str(error.value) == f"Timeout: Too large resource version: 999999, current: {now}"


async def test_watch_selects_one_object_by_name(cluster: ControlPlane) -> None:
    await make(cluster, "a", "ab")
    options = ListOptions(field_selector="metadata.name=a", timeout_seconds=1)
    assert await everything(cluster.backend.watch(MAPS, SYSTEM, options)) == [("ADDED", "a")]


@pytest.mark.parametrize("shown", [True, False])
async def test_deletion_is_sent_to_watches_that_saw_the_object(cluster: ControlPlane, shown: bool) -> None:
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


async def test_watch_ends_when_the_store_is_closed(cluster: ControlPlane) -> None:
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

    async def test_each_node_receives_its_own_pods(self, cluster: ControlPlane) -> None:
        start = str(cluster.store.revision)
        watches = {node: self.watch(cluster, node, start) for node in ("n1", "n2")}
        await self.bound(cluster, "a", "n1")
        await self.bound(cluster, "b", "n2")
        seen = {node: (await anext(watch)).object.metadata.name for node, watch in watches.items()}
        assert seen == {"n1": "a", "n2": "b"}

    async def test_late_watch_receives_earlier_events(self, cluster: ControlPlane) -> None:
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

    async def test_compacted_start_revision_is_expired(self, cluster: ControlPlane) -> None:
        await self.bound(cluster, "a", "n1")
        await cluster.advance(minutes=11)
        with pytest.raises(ApiError) as error:
            self.watch(cluster, "n1", "1")
        assert error.value.reason == "Expired"


async def test_reader_that_falls_too_far_behind_is_ended() -> None:
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


def config_map(name: str = "", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), data=data)


class TestWatch:
    async def test_watch_sends_added_and_deleted_for_a_selector(self, cluster: ControlPlane) -> None:
        start = (await cluster.client.list(ConfigMap)).resource_version
        watch = cluster.client.watch(
            ConfigMap, "default", resource_version=start, label_selector="tier=front"
        )
        await cluster.client.create(config_map("a"))
        await cluster.client.update(config_map("a", {"tier": "front"}))
        await cluster.client.update(config_map("a", {"tier": "front"}, k="1"))
        last = await cluster.client.update(config_map("a", {"tier": "back"}))
        await cluster.client.delete(ConfigMap, "a", "default")
        await cluster.client.create(config_map("end", {"tier": "front"}))
        seen = []
        async for event in watch:
            seen.append(
                (event.type.value, event.object.metadata.name, event.object.metadata.resource_version)
            )
            if event.object.metadata.name == "end":
                break
        assert [(kind, name) for kind, name, _ in seen] == [
            ("ADDED", "a"),
            ("MODIFIED", "a"),
            ("DELETED", "a"),
            ("ADDED", "end"),
        ]
        assert seen[2][2] == last.metadata.resource_version

    async def test_watch_from_a_compacted_revision_is_expired(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        await cluster.advance(minutes=11)
        with pytest.raises(ApiError) as error:
            async for _ in cluster.client.watch(ConfigMap, resource_version="1"):
                pass
        assert (error.value.code, error.value.reason) == (410, "Expired")
        assert str(error.value).startswith("too old resource version: 1 (")

    async def test_watch_waits_for_later_events(self, cluster: ControlPlane) -> None:
        start = (await cluster.client.list(ConfigMap)).resource_version
        started = clock.now()

        async def first() -> str | None:
            async for event in cluster.client.watch(ConfigMap, resource_version=start):
                assert event.type is WatchEventType.ADDED
                return event.object.metadata.name
            return None

        waiting = asyncio.ensure_future(first())
        await cluster.advance(hours=1)
        await cluster.client.create(config_map("late"))
        assert await waiting == "late"
        assert clock.now() - started == timedelta(hours=1)


async def test_initial_objects_are_taken_in_turns_of_the_loop(cluster: ControlPlane) -> None:
    """Many watches that begin at once do not show all their objects in one turn of the event loop."""
    await make(cluster, *(f"m{number:04}" for number in range(1000)))
    options = ListOptions(timeout_seconds=1)
    async with LoopTurns() as turns:

        async def begin() -> int:
            watch, seen = cluster.backend.watch(MAPS, SYSTEM, options), 0
            async for _ in watch:
                size = 1 + len(watch.ready())
                assert size <= AT_ONCE + 1
                turns.add(size)
                seen += size
                if seen == 1000:
                    watch.close()
            return seen

        assert await asyncio.gather(*(begin() for _ in range(16))) == [1000] * 16
    assert turns.most <= 2 * TURN_BYTES // LOOK_BYTES


async def test_missed_events_are_taken_a_few_at_a_time(cluster: ControlPlane) -> None:
    start = str(cluster.store.revision)
    await make(cluster, *(f"m{number:04}" for number in range(3 * AT_ONCE)))
    watch = cluster.backend.watch(MAPS, SYSTEM, ListOptions(resource_version=start, timeout_seconds=1))
    names: list[str | None] = []
    async for event in watch:
        ready = watch.ready()
        assert len(ready) <= AT_ONCE
        names += [each.object.metadata.name for each in (event, *ready)]
    assert names == [f"m{number:04}" for number in range(3 * AT_ONCE)]


def test_bookmarks_do_not_stop_a_wound_clock() -> None:
    """They serve the connection, whose time is the machine's; the end of a watch is the cluster's time."""

    async def main() -> list[WatchEventType]:
        winding = clock.wound_clock()
        assert isinstance(winding, Winding)
        async with memory_cluster() as plane:
            options = ListOptions(
                bookmarks=True, timeout_seconds=7200, resource_version=str(plane.store.revision)
            )
            watch = plane.backend.watch(MAPS, SYSTEM, options)

            async def types() -> list[WatchEventType]:
                return [change.type async for change in watch]

            seen = asyncio.create_task(types())
            await winding.advance(7199)
            assert not seen.done()
            await winding.advance(2)
            return await seen

    with asyncio.Runner(loop_factory=lambda: WoundLoop(EPOCH, seed=1)) as runner:
        assert runner.run(main()) == [WatchEventType.BOOKMARK]
