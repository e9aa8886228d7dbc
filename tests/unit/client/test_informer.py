"""An informer and a real API server: its store, handlers' notifications, and recovery from failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Key, Listing, Unreachable, WatchEvent
from podling.client.informer import Informer
from podling.client.informer_factory import InformerFactory
from podling.testing import ControlPlane


def config_map(name: str, namespace: str = "default", **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))


@asynccontextmanager
async def running(informer: Informer[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(informer.run())
    try:
        await informer.synced()
        yield
    finally:
        task.cancel()


class Diary:
    """Records the notifications of an informer's handlers."""

    def __init__(self, informer: Informer[ConfigMap]) -> None:
        self.lines: list[str] = []
        informer.add_handler(
            lambda new: self.lines.append(f"add {new.metadata.name}"),
            lambda old, new: self.lines.append(
                f"update {new.metadata.name} {dict(old.data)} {dict(new.data)}"
            ),
            lambda old: self.lines.append(f"delete {old.metadata.name}"),
        )


async def test_informer_holds_what_its_transform_leaves(cluster: ControlPlane) -> None:
    def without_data(obj: ConfigMap) -> ConfigMap:
        return structs.replace(obj, data={})

    await cluster.client.create(structs.replace(config_map("listed"), data={"a": "1"}))
    before = [f"add {obj.metadata.name}" for obj in (await cluster.client.list(ConfigMap)).items]
    informer = InformerFactory(cluster.client, {ConfigMap: without_data}).informer(ConfigMap)
    diary = Diary(informer)
    async with running(informer):
        await cluster.client.create(structs.replace(config_map("watched"), data={"b": "2"}))
        await cluster.client.patch(ConfigMap, "listed", {"data": {"a": "2"}}, "default")
        await cluster.client.delete(ConfigMap, "watched", "default")
        await cluster.advance(seconds=1)
    assert diary.lines == [*before, "add watched", "update listed {} {}", "delete watched"]
    assert [obj.data for obj in informer.values()] == [{}] * len(before)


async def test_it_holds_what_was_there_and_follows_every_change(cluster: ControlPlane) -> None:
    await cluster.client.create(config_map("before"))
    informer = Informer(cluster.client, ConfigMap, "default")
    diary = Diary(informer)
    async with running(informer):
        await cluster.client.create(config_map("after"))
        await cluster.client.patch(ConfigMap, "before", {"data": {"a": "1"}}, "default")
        await cluster.client.delete(ConfigMap, "after", "default")
        await cluster.advance(seconds=1)
        assert diary.lines == ["add before", "add after", "update before {} {'a': '1'}", "delete after"]
        assert [obj.metadata.name for obj in informer.values()] == ["before"]
        held = informer.get(Key("default", "before"))
        assert held is not None
        assert held.data == {"a": "1"}


async def test_a_selection_holds_only_what_matches(cluster: ControlPlane) -> None:
    informer = Informer(cluster.client, ConfigMap, "default", label_selector="app=web")
    diary = Diary(informer)
    async with running(informer):
        await cluster.client.create(config_map("one", app="web"))
        await cluster.client.create(config_map("other", app="db"))
        await cluster.client.create(config_map("elsewhere", "kube-public", app="web"))
        await cluster.client.patch(ConfigMap, "one", {"metadata": {"labels": {"app": "db"}}}, "default")
        await cluster.advance(seconds=1)
        assert diary.lines == ["add one", "delete one"]


async def test_indexes_follow_the_objects(cluster: ControlPlane) -> None:
    by_app = {"app": lambda obj: [obj.metadata.labels["app"]] if "app" in obj.metadata.labels else []}
    informer = Informer(cluster.client, ConfigMap, indexers=by_app)
    async with running(informer):
        for name in ("b", "a"):
            await cluster.client.create(config_map(name, app="web"))
        await cluster.client.create(config_map("c"))
        await cluster.client.patch(ConfigMap, "b", {"metadata": {"labels": {"app": "db"}}}, "default")
        await cluster.advance(seconds=1)
        assert [obj.metadata.name for obj in informer.by_index("app", "web")] == ["a"]
        assert [obj.metadata.name for obj in informer.by_index("app", "db")] == ["b"]
        assert informer.by_index("app", "none") == ()
        informer.add_indexer("first", lambda obj: [(obj.metadata.name or "")[0]])
        assert len(informer.by_index("first", "c")) == 1


def by_namespace(obj: ConfigMap) -> list[str]:
    return [obj.metadata.namespace or ""]


async def test_index_keeps_its_name_from_another_one(cluster: ControlPlane) -> None:
    """Components share informers: a second index of one name would hide the first from its users."""
    informer = Informer(cluster.client, ConfigMap)
    informer.add_indexer("place", by_namespace)
    informer.add_indexer("place", by_namespace)
    with pytest.raises(ValueError, match="indexer conflict: place"):
        informer.add_indexer("place", lambda obj: [obj.metadata.name or ""])


async def test_late_handler_receives_held_objects(cluster: ControlPlane) -> None:
    informer = Informer(cluster.client, ConfigMap, "default")
    async with running(informer):
        await cluster.client.create(config_map("one"))
        await cluster.advance(seconds=1)
        assert Diary(informer).lines == ["add one"]


async def test_failing_handler_does_not_stop_others(cluster: ControlPlane) -> None:
    informer = Informer(cluster.client, ConfigMap, "default")
    informer.add_handler(on_add=lambda obj: 1 / 0)
    diary = Diary(informer)
    async with running(informer):
        await cluster.client.create(config_map("one"))
        await cluster.advance(seconds=1)
        assert diary.lines == ["add one"]


class Cut:
    """A client whose connection can be cut, and which then counts the attempts."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.is_cut = False
        self.attempts = 0
        self._watching: set[asyncio.Task[Any]] = set()

    async def list(self, kind: type[Any], namespace: str | None = None, **options: Any) -> Listing[Any]:
        self.attempts += 1
        if self.is_cut:
            raise Unreachable("the cable is cut")
        return await self._client.list(kind, namespace, **options)

    async def watch(
        self, kind: type[Any], namespace: str | None = None, **options: Any
    ) -> AsyncIterator[WatchEvent[Any]]:
        self.attempts += 1
        if self.is_cut:
            raise Unreachable("the cable is cut")
        async for event in self._client.watch(kind, namespace, **options):
            if self.is_cut:
                raise Unreachable("the cable is cut")
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


async def test_after_a_cut_it_resumes_and_misses_nothing(cluster: ControlPlane) -> None:
    client: Any = Cut(cluster.client)
    informer = Informer[ConfigMap](client, ConfigMap, "default")
    diary = Diary(informer)
    async with running(informer):
        client.is_cut = True
        for name in ("a", "b", "c"):
            await cluster.client.create(config_map(name))
        await cluster.advance(minutes=5)
        assert diary.lines == []
        assert client.attempts < 20, "back-off keeps the attempts few"
        client.is_cut = False
        await cluster.advance(minutes=3)
        assert diary.lines == ["add a", "add b", "add c"]


async def test_informer_relists_after_compaction_and_reports_difference(cluster: ControlPlane) -> None:
    client: Any = Cut(cluster.client)
    informer = Informer[ConfigMap](client, ConfigMap, "default")
    diary = Diary(informer)
    await cluster.client.create(config_map("goes"))
    replaced = await cluster.client.create(config_map("replaced"))
    async with running(informer):
        client.is_cut = True
        await cluster.client.delete(ConfigMap, "goes", "default")
        await cluster.client.delete(ConfigMap, "replaced", "default")
        await cluster.client.create(config_map("replaced"))
        await cluster.client.create(config_map("new"))
        await cluster.advance(minutes=1)
        await cluster.store.compact(cluster.store.revision)
        client.is_cut = False
        await cluster.advance(minutes=3)
        assert diary.lines == [
            "add goes",
            "add replaced",
            "delete goes",
            "add new",
            "delete replaced",
            "add replaced",
        ]
        held = informer.get(Key("default", "replaced"))
        assert held is not None
        assert held.metadata.uid != replaced.metadata.uid


async def test_a_factory_shares_one_informer_per_kind(cluster: ControlPlane) -> None:
    factory = InformerFactory(cluster.client)
    assert factory.informer(ConfigMap) is factory.informer(ConfigMap)
    task = asyncio.create_task(factory.run())
    await factory.synced()
    await cluster.client.create(config_map("one"))
    await cluster.advance(seconds=1)
    assert factory.informer(ConfigMap).get(Key("default", "one")) is not None
    task.cancel()
