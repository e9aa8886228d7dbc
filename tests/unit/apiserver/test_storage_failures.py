"""The API server while its storage accepts no writes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.server import ApiServer
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from tests.support.full_store import FULL, FullStore

pytestmark = pytest.mark.usefixtures("failures_expected")


@pytest.fixture
async def store() -> AsyncIterator[FullStore]:
    store = FullStore()
    yield store
    await store.close()


@pytest.fixture
async def server(store: FullStore) -> AsyncIterator[ApiServer]:
    server = ApiServer(store, plugins_without_controllers())
    await server.start()
    yield server
    await server.stop()


def config_map() -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="settings", namespace="default"))


async def test_failed_write_shows_the_storages_message(server: ApiServer, store: FullStore) -> None:
    client = server.client()
    kept = await client.create(config_map())
    store.full = True
    for write in (
        client.create(ConfigMap(metadata=ObjectMeta(name="other", namespace="default"))),
        client.patch(ConfigMap, "settings", {"data": {"a": "b"}}, "default"),
        client.delete(ConfigMap, "settings", "default"),
    ):
        with pytest.raises(ApiError) as caught:
            await write
        status = caught.value.status
        assert (status.code, status.reason, status.message) == (500, "", FULL)
    assert await client.get(ConfigMap, "settings", "default") == kept
    store.full = False
    await client.delete(ConfigMap, "settings", "default")


async def test_server_that_ran_before_starts_and_writes_later(server: ApiServer, store: FullStore) -> None:
    key = resource_of(Namespace).key("", "kube-public")
    held = store.peek(key)
    assert held is not None
    await store.delete(key, expect=held.revision)
    store.full = True
    again = ApiServer(store, plugins_without_controllers())
    await again.start()
    await clock.sleep(120)
    store.full = False
    await clock.sleep(15)
    assert await again.client().get(Namespace, "kube-public")
    await again.stop()


async def test_new_server_does_not_start_without_storage(store: FullStore) -> None:
    store.full = True
    server = ApiServer(store, plugins_without_controllers())
    with pytest.raises(ApiError, match=FULL):
        await server.start()
    await server.stop()


async def test_watch_on_a_closed_store_is_unavailable(server: ApiServer, store: FullStore) -> None:
    await store.close()
    with pytest.raises(ApiError) as caught:
        async for _ in server.client().watch(ConfigMap, "default", resource_version=str(store.revision)):
            pass
    assert caught.value.status.code == 503
