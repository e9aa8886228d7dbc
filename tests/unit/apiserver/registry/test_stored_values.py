"""Stored values that cannot be decoded: found at the start, set aside, and named in answers."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import ConfigMap
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.registry.stored_values import set_aside, undecodable
from podling.apiserver.server import ApiServer
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.base import Compacted
from podling.store.memory import MemoryStore

KEY = resource_of(ConfigMap).key("default", "broken")
GOOD = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"good","namespace":"default"}}'
CUSTOM = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}'


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    store = MemoryStore()
    yield store
    await store.close()


async def put(store: MemoryStore, key: str, value: bytes) -> None:
    await store.put(key, lambda _: value, expect=0)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (KEY, b"\x00\xff", "malformed"),
        (KEY, b"", "truncated"),
        (KEY, b'{"data": 5}', "ConfigMap"),
        (KEY, b'{"metadata":' * 5000, "recursion"),
        ("/registry/apps/deployments/default/x", b"[]", "Deployment"),
        ("/registry/namespaces/x", b'{"kind": 5}', "Namespace"),
        ("/registry/example.com/widgets/default/w", b"{}", "missing"),
        ("/registry/example.com/widgets/w", b'{"apiVersion":"v","kind":"W"}', "metadata"),
        ("/registry/nonsense", b"{}", "missing"),
    ],
)
async def test_undecodable_value_is_found_with_its_key(
    store: MemoryStore, key: str, value: bytes, why: str
) -> None:
    await put(store, resource_of(ConfigMap).key("default", "good"), GOOD)
    await put(store, "/registry/example.com/widgets/default/good", CUSTOM)
    await put(store, key, value)
    (found,) = await undecodable(store)
    assert found.key == key
    assert why.lower() in found.why.lower()


async def test_every_value_of_a_new_cluster_is_decodable(store: MemoryStore) -> None:
    server = ApiServer(store, plugins_without_controllers())
    await server.start()
    await server.stop()
    assert store.count("/registry/") > 50
    assert await undecodable(store) == []


@pytest.mark.asyncio(loop_factories=["real"])
async def test_values_set_aside_are_kept_and_leave_the_store(store: MemoryStore, tmp_path: Path) -> None:
    await put(store, resource_of(ConfigMap).key("default", "good"), GOOD)
    await put(store, KEY, b"\x00\xff")
    before = store.revision
    await set_aside(store, await undecodable(store), tmp_path / "aside")
    (file,) = (tmp_path / "aside").iterdir()
    assert (file.name, file.read_bytes()) == (f"2{KEY.replace('/', '_')}", b"\x00\xff")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert store.peek(KEY) is None
    assert await undecodable(store) == []
    with pytest.raises(Compacted):  # no watch shows the value as the object that was deleted
        store.watch("/registry/", after=before)


async def test_client_reads_why_a_value_cannot_be_read(store: MemoryStore) -> None:
    server = ApiServer(store, plugins_without_controllers())
    await server.start()
    client = server.client()
    try:
        await put(store, KEY, b'{"metadata":{"name":"broken","namespace":"default"},"data":5}')
        revision = store.revision
        with pytest.raises(ApiError) as caught:
            await client.get(ConfigMap, "broken", "default")
        assert caught.value.status.code == 500
        assert caught.value.status.reason == "InternalError"
        text = (
            f"StorageError: corrupt object, Code: 7, Key: {KEY}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"object not decodable revision={revision}: "
        )
        assert str(caught.value).startswith(f"Internal error occurred: {text}")
        with pytest.raises(ApiError) as caught:
            await client.list(ConfigMap, "default")
        status = caught.value.status
        assert (status.code, status.reason) == (500, "StorageReadError")
        assert status.message == "failed to read one or more configmaps from the storage"
        assert status.details is not None
        (cause,) = status.details.causes
        assert (cause.reason, cause.field_) == ("UnexpectedServerResponse", KEY)
        assert (cause.message or "").startswith(text)
        with pytest.raises(ApiError, match="corrupt object"):
            await client.delete(ConfigMap, "broken", "default")
        await client.list(ConfigMap, "kube-system")
    finally:
        await server.stop()
