"""Objects over the Unix socket that the contract of clients does not show: custom kinds, views, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v1 import Scale
from podling.api.core_v1 import ConfigMap, Node
from podling.api.meta_v1 import DeleteOptions, Status
from podling.client.base import PatchType, WatchEventType
from podling.client.local import LocalClient
from podling.client.requests import (
    SYSTEM,
    ListOptions,
    Patch,
    Target,
    User,
    WriteOptions,
)
from podling.client.socket_backend import SocketBackend
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject, stored_resource
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import config_map, socket_backend
from tests.support.custom_resources import definition, widget

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as running:
        yield running


@pytest.fixture
async def backend(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SocketBackend]:
    async with socket_backend(cluster, tmp_path) as (_, connected):
        yield connected


async def established(cluster: ControlPlane, wanted: CustomResourceDefinition) -> CustomResourceDefinition:
    """Create a definition and wait until its resource is served."""
    await cluster.client.create(wanted)
    name = wanted.metadata.name or ""
    while not cluster.server.catalogue.resources():
        await clock.sleep(0.01)
    return await cluster.client.get(CustomResourceDefinition, name)


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "colour": {"type": "string", "default": "red"},
            },
        }
    },
}


async def test_custom_objects_are_read_written_and_watched_as_they_are_stored(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    made = await established(cluster, definition(SCHEMA))
    kind, client = stored_resource(made).type, LocalClient(backend)
    start = (await client.list(kind, "default")).resource_version
    created = await client.create(widget(kind, "w", spec={"size": 1}))
    assert isinstance(created, CustomObject)
    local = await cluster.client.create(widget(kind, "other", spec={"size": 1}))
    assert created.content == local.content
    await cluster.client.delete(kind, "other", "default")
    assert created == await cluster.client.get(kind, "w", "default")
    assert await client.get(kind, "w", "default") == created
    assert (await client.list(kind, "default")).items == (created,)
    patched = await client.patch(kind, "w", {"spec": {"size": 2}}, "default")
    assert patched.content["spec"]["size"] == 2
    await client.delete(kind, "w", "default")
    watch = client.watch(kind, "default", resource_version=start)
    seen = [await anext(watch) for _ in range(5)]
    types = [event.type for event in seen if event.object.metadata.name == "w"]
    assert types == [WatchEventType.ADDED, WatchEventType.MODIFIED, WatchEventType.DELETED]


async def test_custom_objects_are_completed_by_their_schema(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    await established(cluster, definition(SCHEMA))
    (served,) = cluster.server.catalogue.resources()
    client = LocalClient(backend)
    created = await client.create(widget(served.type, "w", spec={"size": 1, "unknown": 1}))
    assert created.content == {"spec": {"size": 1, "colour": "red"}}
    with pytest.raises(ApiError, match=r"spec\.size"):
        await client.patch(served.type, "w", {"spec": {"size": "large"}}, "default")


async def test_stored_version_need_not_be_served(cluster: ControlPlane, backend: SocketBackend) -> None:
    versions = [
        {"name": "v1", "served": True, "storage": False},
        {"name": "v2", "served": False, "storage": True},
    ]
    made = await established(cluster, definition(versions=versions))
    kind = stored_resource(made).type
    assert kind.group_version_kind[1] == "v2"
    client = LocalClient(backend)
    (served,) = cluster.server.catalogue.resources()
    await cluster.client.create(widget(served.type))
    (found,) = (await client.list(kind)).items
    assert found.api_version == "example.com/v2"
    assert await client.get(kind, "w", "default") == await cluster.client.get(kind, "w", "default")
    shown = await client.get(served.type, "w", "default")
    assert shown.api_version == "example.com/v1"
    assert [each.api_version for each in (await client.list(served.type)).items] == ["example.com/v1"]
    start = found.metadata.resource_version or ""
    watch = client.watch(served.type, resource_version=start)
    await client.delete(kind, "w", "default")
    assert (await anext(watch)).object.api_version == "example.com/v1"


async def test_custom_kind_without_definition_is_not_found(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    made = await established(cluster, definition())
    kind = stored_resource(made).type
    await cluster.client.delete(CustomResourceDefinition, made.metadata.name or "")
    while cluster.server.catalogue.definitions():
        await clock.sleep(0.01)
    with pytest.raises(ApiError, match="the server could not find the requested resource") as error:
        await LocalClient(backend).list(kind)
    assert is_not_found(error.value)


async def test_user_has_the_rights_that_it_has_in_process(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    jane = User("jane", ("system:authenticated",))
    refusals = []
    for client in (LocalClient(backend, jane), cluster.client_for(jane)):
        with pytest.raises(ApiError) as refused:
            await client.create(config_map("a"))
        refusals.append(refused.value.status)
        with pytest.raises(ApiError) as hidden:
            await client.get(ConfigMap, "a", "default")
        refusals.append(hidden.value.status)
        with pytest.raises(ApiError) as unwatched:
            await anext(client.watch(ConfigMap, resource_version="1"))
        refusals.append(unwatched.value.status)
    assert refusals[:3] == refusals[3:]
    assert {each.code for each in refusals} == {403}


async def test_view_of_an_object_has_its_own_kind(cluster: ControlPlane, backend: SocketBackend) -> None:
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "app"}]},
            },
        },
    }
    await cluster.client.create(codec.convert(plain, Deployment)[0])
    target = Target(resource_of(Deployment), "default", "web", "scale")
    scale = await backend.get(target, SYSTEM)
    assert isinstance(scale, Scale)
    assert scale == await cluster.backend.get(target, SYSTEM)
    patch = Patch(PatchType.MERGE, {"spec": {"replicas": 5}})
    changed = await backend.patch(target, SYSTEM, patch, WriteOptions())
    assert isinstance(changed, Scale)
    assert (await cluster.client.get(Deployment, "web", "default")).spec.replicas == 5
    with pytest.raises(ApiError) as unknown:
        await backend.update(Target(target.resource, "default", "web", "none"), SYSTEM, scale, WriteOptions())
    assert is_not_found(unknown.value)


async def test_collection_is_deleted_by_selection(cluster: ControlPlane, backend: SocketBackend) -> None:
    for name in "abc":
        await cluster.client.create(config_map(name, text="x" * 200_000))
    target = Target(resource_of(ConfigMap), "default")
    selection = ListOptions(label_selector="app in (a, c)")
    deleted = await backend.delete_collection(target, SYSTEM, selection, DeleteOptions())
    assert [each.metadata.name for each in deleted] == ["a", "c"]
    assert [each.metadata.name for each in (await cluster.client.list(ConfigMap, "default")).items] == ["b"]


async def test_large_list_comes_in_parts(cluster: ControlPlane, backend: SocketBackend) -> None:
    for number in range(30):
        await cluster.client.create(config_map(f"m{number:02}", text="x" * 50_000))
    found = await LocalClient(backend).list(ConfigMap, "default")
    assert found == await cluster.client.list(ConfigMap, "default")
    assert len(found.items) == 30


async def test_warnings_are_carried_back(cluster: ControlPlane, backend: SocketBackend) -> None:
    patch = Patch(PatchType.MERGE, {"data": {"a": "1"}, "unknown": 1})
    await cluster.client.create(config_map("a"))
    options, local = WriteOptions(), WriteOptions()
    target = Target(resource_of(ConfigMap), "default", "a")
    await cluster.backend.patch(target, SYSTEM, patch, local)
    await backend.patch(target, SYSTEM, patch, options)
    assert options.warnings == local.warnings == ['unknown field "unknown"']


async def test_deletion_answers_with_a_status_or_the_object(
    cluster: ControlPlane, backend: SocketBackend
) -> None:
    await cluster.client.create(config_map("a"))
    target = Target(resource_of(ConfigMap), "default", "a")
    assert isinstance(await backend.delete(target, SYSTEM, DeleteOptions()), Status)
    held = codec.convert({"metadata": {"name": "n1", "finalizers": ["example.com/hold"]}}, Node)[0]
    await cluster.client.create(held)
    kept = await backend.delete(Target(resource_of(Node), "", "n1"), SYSTEM, DeleteOptions())
    assert isinstance(kept, Node)
    assert kept.metadata.deletion_timestamp is not None


async def test_request_acts_for_the_user_that_it_names(cluster: ControlPlane, backend: SocketBackend) -> None:
    seen: list[User] = []
    check = cluster.server.authorizer.check

    def note(user: User, verb: str, target: Target, field_selector: str = "") -> None:
        seen.append(user)
        check(user, verb, target, field_selector)

    cluster.server.authorizer.check = note  # type: ignore[method-assign]
    await cluster.client.create(config_map("a"))
    seen.clear()
    users = [
        User("ann", ("system:masters",), "u1", {"scopes": ("a", "b")}),
        User("ann", ("system:masters",), "u1", {"scopes": ("a",)}),
        User("ann", ("system:masters",), "u2"),
    ]
    target = Target(resource_of(ConfigMap), "default", "a")
    for user in (*users, *users):
        await backend.get(target, user)
    assert seen == [*users, *users]
