"""Lists: pages, selectors, and compacted continue tokens."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.apiserver.registry.objects import lacks_object
from podling.client.requests import SYSTEM, ListOptions, Target
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.base import Entry
from podling.store.large_values import LARGE_BYTES
from podling.testing import ControlPlane

TARGET = Target(resource_of(ConfigMap), "default")


def config_map(name: str = "", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), data=data)


class TestList:
    async def test_pages_of_a_list_show_one_revision(self, cluster: ControlPlane) -> None:
        for name in "abcde":
            await cluster.client.create(config_map(name))
        first = await cluster.client.list(ConfigMap, "default", limit=2)
        await cluster.client.create(config_map("bb"))
        await cluster.client.delete(ConfigMap, "d", "default")
        rest = await cluster.client.list(ConfigMap, "default", limit=10, continue_token=first.continue_token)
        assert [each.metadata.name for each in first.items + rest.items] == list("abcde")
        assert (first.remaining, rest.remaining) == (3, None)
        assert first.resource_version == rest.resource_version

    async def test_selectors_are_applied_before_the_limit(self, cluster: ControlPlane) -> None:
        for number in range(20):
            await cluster.client.create(config_map(f"m{number:02}", {"odd": str(number % 2)}))
        names: list[str | None] = []
        token = ""
        while True:
            page = await cluster.client.list(
                ConfigMap, "default", label_selector="odd=1", limit=3, continue_token=token
            )
            names += [each.metadata.name for each in page.items]
            token = page.continue_token
            if not token:
                break
            assert len(page.items) == 3
        assert names == [f"m{number:02}" for number in range(1, 20, 2)]

    async def test_unknown_field_selector_is_refused(self, cluster: ControlPlane) -> None:
        with pytest.raises(ApiError) as error:
            await cluster.client.list(ConfigMap, "default", field_selector="data.k=v")
        wanted = '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'
        assert str(error.value) == wanted

    async def test_compacted_continue_token_is_expired_with_a_new_token(self, cluster: ControlPlane) -> None:
        for name in "abc":
            await cluster.client.create(config_map(name))
        first = await cluster.client.list(ConfigMap, "default", limit=1)
        await cluster.client.create(config_map("d"))
        await cluster.advance(minutes=11)
        with pytest.raises(ApiError) as error:
            await cluster.client.list(ConfigMap, "default", limit=9, continue_token=first.continue_token)
        assert error.value.code == 410
        token = error.value.status.metadata.continue_ or ""
        rest = await cluster.client.list(ConfigMap, "default", limit=9, continue_token=token)
        assert [each.metadata.name for each in rest.items] == ["b", "c", "d"]


class TestLargeObjects:
    """Lists of large objects keep none of them decoded."""

    @pytest.fixture
    async def entries(self, cluster: ControlPlane) -> list[Entry]:
        for name in "abc":
            await cluster.client.create(config_map(name, {"of": "mine"}, text="x" * 2 * LARGE_BYTES))
        await cluster.advance(minutes=1)
        return list((await cluster.store.list("/registry/configmaps/default/")).entries)

    @pytest.mark.parametrize(
        "options", [ListOptions(), ListOptions(label_selector="of=mine"), ListOptions(limit=2)]
    )
    async def test_list_keeps_no_object(
        self, cluster: ControlPlane, entries: list[Entry], options: ListOptions
    ) -> None:
        assert all(map(lacks_object, entries)), "nothing has read them for a while"
        found = await cluster.backend.list(TARGET, SYSTEM, options)
        assert [obj.metadata.name for obj in found.items] == list("abc")[: options.limit or 3]
        assert all(map(lacks_object, entries))

    async def test_initial_state_of_a_watch_keeps_no_object(
        self, cluster: ControlPlane, entries: list[Entry]
    ) -> None:
        watch = cluster.backend.watch(TARGET, SYSTEM, ListOptions())
        names = [(await anext(watch)).object.metadata.name for _ in entries]
        watch.close()
        assert names == list("abc")
        assert all(map(lacks_object, entries))

    async def test_deletion_of_a_collection_returns_large_objects(
        self, cluster: ControlPlane, entries: list[Entry]
    ) -> None:
        options = DeleteOptions(propagation_policy="Background")
        found = await cluster.backend.delete_collection(TARGET, SYSTEM, ListOptions(), options)
        assert [obj.metadata.name for obj in found] == list("abc")
        assert all(len(obj.data["text"]) == 2 * LARGE_BYTES for obj in found)
        assert cluster.store.count("/registry/configmaps/default/") == 0
