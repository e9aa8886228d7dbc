"""Custom objects through the API: written, watched, scaled, selected, owned, and deleted."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import ConfigMap, Namespace, ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import PatchType
from podling.client.informer import Informer
from podling.client.requests import SYSTEM, ListOptions, Target, WriteOptions
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.controllers.namespace import NamespaceController
from podling.controllers.resource_quota import ResourceQuotaController
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.custom_resources import Define, widget

WIDGET = "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
OTHER = "the API version in the data ({}) does not match the expected API version (example.com/v1)"


@pytest.mark.parametrize(
    ("head", "code", "message"),
    [
        ({}, 400, WIDGET + """'{"metadata":{"name":"w"}}' ({"metadata":{"name":"w"}})"""),
        ({"kind": "Widget"}, 400, OTHER.format("")),
        ({"kind": "Widget", "apiVersion": "example.com/v2"}, 400, OTHER.format("example.com/v2")),
        (
            {"kind": "Gadget", "apiVersion": "example.com/v1"},
            422,
            'kind: Invalid value: "Gadget": must be Widget',
        ),
    ],
)
async def test_custom_objects_have_api_version_and_kind(
    cluster: ControlPlane, define: Define, head: dict[str, str], code: int, message: str
) -> None:
    kind = await define()
    with pytest.raises(ApiError) as error:
        obj = codec.convert({**head, "metadata": {"name": "w"}}, kind)[0]
        await cluster.backend.create(Target(kind.custom_resource, "default"), SYSTEM, obj, WriteOptions())
    assert error.value.code == code
    assert str(error.value).endswith(message)


async def test_informers_see_every_change(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    informer = Informer(cluster.client, kind)
    told: list[str] = []
    informer.add_handler(
        lambda obj: told.append(f"+{obj.metadata.name}"),
        lambda old, new: told.append(f"~{old.content['x']}{new.content['x']}"),
        lambda obj: told.append(f"-{obj.metadata.name}"),
    )
    task = asyncio.create_task(informer.run())
    await informer.synced()
    await cluster.client.create(widget(kind, x=1))
    await cluster.client.patch(kind, "w", {"x": 2}, "default")
    await cluster.client.delete(kind, "w", "default")
    await clock.sleep(1)
    task.cancel()
    assert told == ["+w", "~12", "-w"]


async def test_applying_merges_by_the_schema(cluster: ControlPlane, define: Define) -> None:
    """Lists that the schema calls maps are merged by their keys; each applier keeps its items."""
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
    }
    parts = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    kind = await define({"type": "object", "properties": {"parts": parts}})

    async def applied(manager: str, *items: dict[str, object]) -> list[dict[str, object]]:
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "parts": list(items)}
        found = await cluster.client.patch(
            kind, "w", body, "default", patch_type=PatchType.APPLY, field_manager=manager
        )
        listed: list[dict[str, object]] = found.content.get("parts", [])
        return listed

    await applied("one", {"name": "a", "v": 1})
    assert await applied("two", {"name": "b", "v": 2}) == [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    with pytest.raises(ApiError, match=r'conflict with "one": .parts\[name="a"\].v'):
        await applied("two", {"name": "a", "v": 9})
    assert await applied("one") == [{"name": "b", "v": 2}]
    with pytest.raises(ApiError, match="field not declared in schema"):
        await applied("one", {"name": "a", "other": 1})


SCALARS = {
    "size": {"type": "integer"},
    "share": {"type": "number"},
    "on": {"type": "boolean"},
    "mode": {"type": "string"},
    "since": {"type": "string", "format": "date-time"},
    "port": {"x-kubernetes-int-or-string": True},
}


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("size", "three", "expected numeric (int or float), got string"),
        ("share", True, "expected numeric (int or float), got bool"),
        ("on", "yes", "expected boolean, got &{yes}"),
        ("mode", 3, "expected string, got &value.valueUnstructured{Value:3}"),
        ("since", [], "expected any scalar, got &{[]}"),
    ],
)
async def test_apply_of_fields_outside_the_schema(
    cluster: ControlPlane, define: Define, name: str, value: object, what: str
) -> None:
    kind = await define({"type": "object", "properties": SCALARS})
    body = {"apiVersion": "example.com/v1", "kind": "Widget", name: value}
    with pytest.raises(ApiError) as error:
        await cluster.client.patch(kind, "w", body, "default", patch_type=PatchType.APPLY, field_manager="me")
    place = "failed to create typed patch object (default/w; example.com/v1, Kind=Widget)"
    assert (error.value.code, str(error.value)) == (500, f"{place}: .{name}: {what}")


async def test_apply_under_a_schema_that_preserves_unknown_fields(
    cluster: ControlPlane, define: Define
) -> None:
    """Maps are merged; every other value is atomic."""
    kind = await define()

    async def applied(manager: str, spec: dict[str, object]) -> object:
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}
        found = await cluster.client.patch(
            kind, "w", body, "default", patch_type=PatchType.APPLY, field_manager=manager
        )
        return found.content["spec"]

    await applied("one", {"a": {"b": 1}, "items": [1]})
    assert await applied("two", {"a": {"c": 2}}) == {"a": {"b": 1, "c": 2}, "items": [1]}
    assert await applied("one", {"a": {"b": 1}}) == {"a": {"b": 1, "c": 2}}
    with pytest.raises(ApiError, match=r'conflict with "one": \.spec\.a\.b'):
        await applied("two", {"a": {"b": 3}})


async def test_strategic_patches_are_not_for_custom_objects(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    await cluster.client.create(widget(kind))
    with pytest.raises(ApiError) as refused:
        await cluster.client.patch(kind, "w", {"a": 1}, "default", patch_type=PatchType.STRATEGIC)
    assert refused.value.code == 415
    assert str(refused.value).endswith(
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


async def test_list_selects_by_selectable_fields(cluster: ControlPlane, define: Define) -> None:
    schema = {"type": "object", "properties": {"color": {"type": "string"}}}
    kind = await define(schema, version={"selectableFields": [{"jsonPath": ".color"}]})
    await cluster.client.create(widget(kind, "a", color="red"))
    await cluster.client.create(widget(kind, "b", color="blue"))
    found = await cluster.client.list(kind, field_selector="color=blue")
    assert [each.metadata.name for each in found.items] == ["b"]
    with pytest.raises(ApiError, match="field label not supported: size"):
        await cluster.client.list(kind, field_selector="size=1")


async def test_dry_runs_and_collections(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    await cluster.client.create(widget(kind, "a"), dry_run=True)
    assert not (await cluster.client.list(kind)).items
    for name in "abc":
        await cluster.client.create(widget(kind, name))
    target = Target(kind.custom_resource, "default")
    await cluster.backend.delete_collection(target, SYSTEM, ListOptions())
    assert not (await cluster.client.list(kind)).items


async def test_versions_show_the_same_object(cluster: ControlPlane, define: Define) -> None:
    kind = await define(
        versions=[
            {"name": "v1", "served": True, "storage": True},
            {"name": "v2", "served": True, "storage": False},
        ]
    )
    await cluster.client.create(widget(kind, spec={"a": 1}))
    second = cluster.server.catalogue.by_path("example.com", "v2", "widgets")
    assert second is not None
    shown = await cluster.client.get(second.type, "w", "default")
    assert (shown.api_version, shown.content) == ("example.com/v2", {"spec": {"a": 1}})
    await cluster.client.patch(second.type, "w", {"spec": {"b": 2}}, "default")
    found = await cluster.client.get(kind, "w", "default")
    assert (found.api_version, found.content) == ("example.com/v1", {"spec": {"a": 1, "b": 2}})


async def test_dependents_of_a_custom_object_are_deleted_with_it(
    cluster: ControlPlane, define: Define
) -> None:
    async with running(cluster.client, GarbageCollectorController):
        kind = await define()
        owner = await cluster.client.create(widget(kind))
        ref = OwnerReference(
            api_version=owner.api_version, kind=owner.kind, name="w", uid=owner.metadata.uid or ""
        )
        for name, refs in (("owned", (ref,)), ("free", ())):
            metadata = ObjectMeta(name=name, namespace="default", owner_references=refs)
            await cluster.client.create(ConfigMap(metadata=metadata))
        await clock.sleep(5)
        await cluster.client.delete(kind, "w", "default")
        await clock.sleep(30)
        left = (await cluster.client.list(ConfigMap, "default")).items
        assert [each.metadata.name for each in left] == ["free"]


async def test_custom_objects_can_be_owned(cluster: ControlPlane, define: Define) -> None:
    async with running(cluster.client, GarbageCollectorController):
        kind = await define()
        owner = await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace="default")))
        owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": owner.metadata.uid}]
        made = await cluster.client.create(widget(kind))
        await cluster.client.patch(kind, "w", {"metadata": {"ownerReferences": owners}}, "default")
        await clock.sleep(5)
        assert made.metadata.uid
        await cluster.client.delete(ConfigMap, "o", "default")
        await clock.sleep(30)
        assert not (await cluster.client.list(kind)).items


async def test_quotas_count_custom_objects(cluster: ControlPlane, define: Define) -> None:
    limit = "count/widgets.example.com"
    quota = ResourceQuota(
        metadata=ObjectMeta(name="few", namespace="default"), spec=ResourceQuotaSpec(hard={limit: "1"})
    )

    async def used() -> str | None:
        await clock.sleep(1)
        return (await cluster.client.get(ResourceQuota, "few", "default")).status.used.get(limit)

    async with running(cluster.client, ResourceQuotaController):
        await cluster.client.create(quota)
        assert await used() is None, "nothing can count against it"
        kind = await define()
        await cluster.client.create(widget(kind))
        assert await used() == "1"
        with pytest.raises(ApiError) as exceeded:
            await cluster.client.create(widget(kind, "second"))
        assert str(exceeded.value) == (
            'widgets.example.com "second" is forbidden: exceeded quota: few, requested: '
            f"{limit}=1, used: {limit}=1, limited: {limit}=1"
        )
        await cluster.client.delete(kind, "w", "default")
        assert await used() == "0"
        await cluster.client.create(widget(kind))
        await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
        assert await used() == "0"


async def test_custom_objects_are_deleted_with_their_namespace(cluster: ControlPlane, define: Define) -> None:
    async with running(cluster.client, NamespaceController):
        kind = await define()
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="space")))
        obj = widget(kind)
        await cluster.client.create(obj, namespace="default")
        moved = widget(kind, "there")
        metadata = ObjectMeta(name="there", namespace="space")
        await cluster.client.create(type(moved)(metadata=metadata))
        await cluster.client.delete(Namespace, "space")
        await clock.sleep(60)
        left = (await cluster.client.list(kind)).items
        assert [each.metadata.namespace for each in left] == ["default"]
