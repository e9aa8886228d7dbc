"""The contract of every client on watches and informers."""

from __future__ import annotations

import asyncio

import pytest

from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Key, WatchEventType
from podling.client.informer import Informer
from podling.machinery.errors import ApiError, is_expired
from podling.testing import ControlPlane
from tests.contract.client_stories import Play, config_map, take


def test_watch_delivers_every_change_after_its_start(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("before"))
        start = (await client.list(ConfigMap, "default")).resource_version
        await client.create(config_map("a"))
        await client.patch(ConfigMap, "a", {"data": {"x": "1"}}, "default")
        await client.delete(ConfigMap, "a", "default")
        stream = client.watch(ConfigMap, "default", resource_version=start)
        assert await take(stream, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    play(story)


def test_a_watch_follows_its_selection(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        await client.create(config_map("a"))
        await client.create(config_map("b"))
        await client.patch(ConfigMap, "b", {"metadata": {"labels": {"app": "other"}}}, "default")
        stream = client.watch(ConfigMap, "default", resource_version=start, label_selector="app=b")
        assert await take(stream, 2) == [("ADDED", "b"), ("DELETED", "b")]

    play(story)


def test_a_watch_carries_objects_of_any_size(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        big = "x" * 600_000
        await client.create(config_map("big", text=big))
        async for event in client.watch(ConfigMap, "default", resource_version=start):
            if event.type is WatchEventType.ADDED:
                assert event.object.data == {"text": big}
                break

    play(story)


def test_watch_from_compacted_revision_expires(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        for number in range(3):
            await client.create(config_map(f"m{number}"))
        await cluster.store.compact(cluster.store.revision)
        with pytest.raises(ApiError) as gone:
            while True:  # a worker forgets a moment after the store
                await take(client.watch(ConfigMap, "default", resource_version=start), 1)
        assert is_expired(gone.value)
        assert gone.value.code == 410

    play(story)


def test_informer_follows_changes(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        informer = Informer(client, Namespace)
        arrived = asyncio.Event()
        informer.add_handler(lambda obj: arrived.set() if obj.metadata.name == "team" else None)
        task = asyncio.create_task(informer.run())
        await informer.synced()
        assert informer.get(Key("", "default")) is not None
        await client.create(Namespace(metadata=ObjectMeta(name="team")))
        await arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(story)
