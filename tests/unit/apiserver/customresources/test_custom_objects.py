"""Custom objects through the API: written, watched, scaled, selected, owned, and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.autoscaling_v1 import Scale
from podling.api.core_v1 import ConfigMap, Namespace, ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import PatchType, WatchEvent, WatchEventType
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

SCALED = {
    "subresources": {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
}


async def test_status_is_written_through_its_subresource(cluster: ControlPlane, define: Define) -> None:
    kind = await define(version=SCALED)
    made = await cluster.client.create(widget(kind, spec={"a": 1}, status={"ignored": True}))
    assert (made.metadata.generation, made.content) == (1, {"spec": {"a": 1}})
    found = await cluster.client.patch(kind, "w", {"spec": {"a": 2}, "status": {"x": 1}}, "default")
    assert (found.metadata.generation, found.content) == (2, {"spec": {"a": 2}})
    patch = {"spec": {"a": 3}, "status": {"x": 1}, "metadata": {"labels": {"no": "way"}}}
    found = await cluster.client.patch(kind, "w", patch, "default", subresource="status")
    assert found.content == {"spec": {"a": 2}, "status": {"x": 1}}
    assert (found.metadata.generation, found.metadata.labels) == (2, {})


async def test_status_without_subresource_changes_the_generation(
    cluster: ControlPlane, define: Define
) -> None:
    kind = await define()
    await cluster.client.create(widget(kind, status={"x": 1}))
    found = await cluster.client.patch(kind, "w", {"status": {"x": 2}}, "default")
    assert (found.metadata.generation, found.content) == (2, {"status": {"x": 2}})
    found = await cluster.client.patch(kind, "w", {"metadata": {"labels": {"a": "b"}}}, "default")
    assert found.metadata.generation == 2
    again = await cluster.client.patch(kind, "w", {"metadata": {"labels": {"a": "b"}}}, "default")
    assert again.metadata.resource_version == found.metadata.resource_version, "nothing changed"


async def test_finalizers_without_a_domain_are_warned_of(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    obj = widget(kind)
    metadata = structs.replace(obj.metadata, finalizers=("widget.example.com", "example.com/mine"))
    target, options = Target(kind.custom_resource, "default"), WriteOptions()
    await cluster.backend.create(target, SYSTEM, structs.replace(obj, metadata=metadata), options)
    assert options.warnings == [
        'metadata.finalizers: "widget.example.com": prefer a domain-qualified finalizer name including a '
        "path (/) to avoid accidental conflicts with other finalizer writers"
    ]


async def test_update_needs_a_resource_version(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    made = await cluster.client.create(widget(kind))
    with pytest.raises(ApiError) as error:
        await cluster.client.update(widget(kind, spec={"a": 1}))
    assert str(error.value) == (
        'widgets.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update"
    )
    await cluster.client.update(structs.replace(made, content={"spec": {"a": 1}}))


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


async def test_scale_subresource_reads_and_writes_replicas(cluster: ControlPlane, define: Define) -> None:
    kind = await define(version=SCALED)
    await cluster.client.create(widget(kind, spec={"replicas": 2}))
    status = {"status": {"replicas": 1, "selector": "app=x"}}
    await cluster.client.patch(kind, "w", status, "default", subresource="status")
    target = Target(kind.custom_resource, "default", "w", "scale")
    scale: Scale = await cluster.backend.get(target, SYSTEM)
    assert (scale.spec.replicas, scale.status.replicas, scale.status.selector) == (2, 1, "app=x")
    await cluster.client.patch(kind, "w", {"spec": {"replicas": 7}}, "default", subresource="scale")
    assert (await cluster.client.get(kind, "w", "default")).content["spec"] == {"replicas": 7}


async def test_invalid_scales_are_refused(cluster: ControlPlane, define: Define) -> None:
    kind = await define(version=SCALED)
    await cluster.client.create(widget(kind, spec={}))
    target = Target(kind.custom_resource, "default", "w", "scale")
    with pytest.raises(ApiError) as nothing:
        await cluster.backend.get(target, SYSTEM)
    text = 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
    assert (nothing.value.code, str(nothing.value)) == (500, text)
    await cluster.client.patch(kind, "w", {"spec": {"replicas": 1}}, "default", subresource="scale")
    with pytest.raises(ApiError) as negative:
        await cluster.client.patch(kind, "w", {"spec": {"replicas": -1}}, "default", subresource="scale")
    assert str(negative.value) == (
        'Scale.autoscaling "w" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0"
    )


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

    async def used() -> str:
        await clock.sleep(1)
        return (await cluster.client.get(ResourceQuota, "few", "default")).status.used[limit]

    async with running(cluster.client, ResourceQuotaController):
        await cluster.client.create(quota)
        assert await used() == "0"
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


async def test_definition_is_deleted_after_its_objects(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    await cluster.client.create(widget(kind))
    held = {"metadata": {"finalizers": ["example.com/mine"]}}
    await cluster.client.patch(kind, "w", held, "default")
    await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
    await clock.sleep(20)
    going = await cluster.client.get(CustomResourceDefinition, "widgets.example.com")
    terminating = next(each for each in going.status.conditions if each.type == "Terminating")
    assert (terminating.status, terminating.reason) == ("True", "InstanceDeletionInProgress")
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(widget(kind, "late"))
    assert refused.value.code == 405
    assert str(refused.value) == "create not allowed while custom resource definition is terminating"
    watch = cluster.client.watch(
        CustomResourceDefinition, resource_version=going.metadata.resource_version or ""
    )
    await cluster.client.patch(kind, "w", {"metadata": {"finalizers": None}}, "default")
    await clock.sleep(20)
    assert [event.type async for event in _until_deleted(watch)][-1] is WatchEventType.DELETED
    assert cluster.server.catalogue.resources() == ()


async def _until_deleted(watch: AsyncIterator[WatchEvent[Any]]) -> AsyncIterator[WatchEvent[Any]]:
    async for event in watch:
        yield event
        if event.type is WatchEventType.DELETED:
            return
