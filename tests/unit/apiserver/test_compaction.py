"""History is bounded by age, by number and by size; objects are bounded by what the storage takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from podling.api.core_v1 import (
    ConfigMap,
    Container,
    PodSpec,
    PodTemplate,
    PodTemplateSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.compaction import (
    CHECK_SECONDS,
    KEPT_BYTES,
    KEPT_CHANGES,
    KEPT_SECONDS,
    LASTING_BYTES,
    LASTING_FROM_SECONDS,
    History,
)
from podling.apiserver.server import ApiServer
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.base import VALUE_BYTES_MAX
from podling.store.memory import MemoryStore
from podling.store.sqlite import SqliteStore
from podling.testing import ControlPlane

MEGABYTE = 1024 * 1024
LARGE = 1000 * 1000
"""As large as a ConfigMap may be, nearly."""
HISTORY_LEFT = KEPT_BYTES + 8 * MEGABYTE
"""Compaction runs beside the writer, which may get a few writes ahead."""


def config(text: str, name: str = "large") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"text": text})


async def outgrow_history(server: ApiServer) -> str:
    """Change a large ConfigMap until its history was compacted; return its first revision."""
    client = server.client()
    first = await client.create(config("x" * LARGE))
    for number in range(2 * KEPT_BYTES // MEGABYTE):
        await client.patch(ConfigMap, "large", {"data": {"number": str(number)}}, "default")
        assert server.store.history_bytes < HISTORY_LEFT
    return first.metadata.resource_version or ""


async def test_small_changes_of_a_large_object_are_forgotten(cluster: ControlPlane) -> None:
    first = await outgrow_history(cluster.server)
    with pytest.raises(ApiError) as gone:
        cluster.client.watch(ConfigMap, "default", resource_version=first)
    assert (gone.value.code, gone.value.reason) == (410, "Expired")
    found = await cluster.client.get(ConfigMap, "large", "default")
    assert found.data["number"] == str(2 * KEPT_BYTES // MEGABYTE - 1)


async def test_burst_of_large_writes_goes_with_its_minute(cluster: ControlPlane) -> None:
    client = cluster.server.client()
    await client.create(config("x" * LARGE))
    for number in range(3 * LASTING_BYTES // MEGABYTE):
        await client.patch(ConfigMap, "large", {"data": {"number": str(number)}}, "default")
    await cluster.advance(seconds=LASTING_FROM_SECONDS / 2)
    assert cluster.server.store.history_bytes > 2 * LASTING_BYTES
    await cluster.advance(seconds=LASTING_FROM_SECONDS / 2 + 2 * CHECK_SECONDS)
    assert LASTING_BYTES // 2 < cluster.server.store.history_bytes <= LASTING_BYTES


@pytest.mark.asyncio(loop_factories=["real"])
async def test_forgotten_history_leaves_the_disk_but_not_the_present(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    server = ApiServer(store, plugins_without_controllers())
    await server.start()
    await outgrow_history(server)
    await server.client().create(config("", "last"))
    await server.stop()
    await store.close()
    again = SqliteStore(tmp_path / "store.db")
    entry = again.peek(resource_of(ConfigMap).key("default", "large"))
    assert entry is not None
    assert len(entry.value) > LARGE
    assert again.history_bytes < HISTORY_LEFT
    await again.close()


async def test_history_counts_what_it_alone_keeps() -> None:
    store = MemoryStore()
    made = await store.put("a", lambda _: b"x" * 100, expect=0)
    assert store.history_bytes == 0, "the present value is no history"
    changed = await store.put("a", lambda _: b"y" * 10, expect=made.revision)
    assert store.history_bytes == 100
    await store.delete("a", expect=changed.revision)
    assert store.history_bytes == 120
    assert [store.history_beyond(size) for size in (120, 119, 0)] == [0, 2, 3]
    await store.compact(2)
    assert store.history_bytes == 20
    await store.compact(3)
    assert store.history_bytes == 0


async def test_watch_that_falls_too_many_bytes_behind_is_cut_off(cluster: ControlPlane) -> None:
    await cluster.client.create(config("", "first"))
    stuck = aiter(cluster.client.watch(ConfigMap, "default", resource_version=""))
    await anext(stuck)
    await outgrow_history(cluster.server)
    seen = [event async for event in stuck]
    assert len(seen) < KEPT_BYTES // MEGABYTE


async def test_object_larger_than_the_storage_takes_is_refused(cluster: ControlPlane) -> None:
    template = PodTemplate(
        metadata=ObjectMeta(name="large", namespace="default"),
        template=PodTemplateSpec(
            spec=PodSpec(containers=(Container(name="c", image="i", args=("x" * VALUE_BYTES_MAX,)),))
        ),
    )
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(template)
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.status.message == "etcdserver: request is too large"


def keys(first: int, last: int) -> dict[str, str]:
    """Data of which the record of managers is as large as the data."""
    return {f"key-{number:020}": "" for number in range(first, last)}


async def test_record_of_managers_goes_where_it_makes_an_object_too_large(cluster: ControlPlane) -> None:
    """As upstream: handlers/create.go and handlers/patch.go try again without it."""
    options = WriteOptions(field_manager="test")
    target = Target(resource_of(ConfigMap), "default", "owned")
    made = structs.replace(config("", "owned"), data=keys(0, 10_000))
    small = await cluster.backend.create(replace(target, name=""), SYSTEM, made, options)
    assert small.metadata.managed_fields
    more = {"data": keys(10_000, 35_000)}
    changed = await cluster.backend.patch(target, SYSTEM, Patch(PatchType.MERGE, more), options)
    assert len(changed.data) == 35_000
    assert not changed.metadata.managed_fields
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, **more}
    apply = WriteOptions(field_manager="other", apply=True, force=True)
    with pytest.raises(ApiError, match="request is too large"):
        await cluster.backend.patch(target, SYSTEM, Patch(PatchType.APPLY, body), apply)


def test_history_is_limited_by_age_and_number() -> None:
    history = History()
    assert history.look(0, 10) == 0
    assert history.look(KEPT_SECONDS - 1, 20) == 0
    assert history.look(KEPT_SECONDS, 30) == 10
    assert history.look(KEPT_SECONDS + 1, 30 + KEPT_CHANGES) == 30
