"""Custom objects that were stored before their definition changed: completed anew whenever they are read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceDefinitionVersion
from podling.client.requests import SYSTEM, ListOptions, Target
from podling.machinery.encoding import codec
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, definition, widget

STRING = {"type": "string"}
OTHER = {**STRING, "default": "y"}


def spec(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object whose ``spec`` has ``properties``."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


async def redefine(cluster: ControlPlane, *schemas: dict[str, Any]) -> None:
    """Give the versions of ``widgets.example.com`` other schemas, in order."""
    found = await cluster.client.get(CustomResourceDefinition, "widgets.example.com")
    plain = codec.to_plain(found.spec.versions)
    for version, schema in zip(plain, schemas, strict=True):
        version["schema"] = {"openAPIV3Schema": schema}
    versions = codec.from_plain(plain, tuple[CustomResourceDefinitionVersion, ...])
    await cluster.client.update(structs.replace(found, spec=structs.replace(found.spec, versions=versions)))


def served(cluster: ControlPlane, version: str = "v1") -> type[Any]:
    found = cluster.server.catalogue.by_path("example.com", version, "widgets")
    assert found is not None
    kind: type[Any] = found.type
    return kind


async def content(cluster: ControlPlane, version: str = "v1", name: str = "w") -> Any:
    return (await cluster.client.get(served(cluster, version), name, "default")).content


def shown(cluster: ControlPlane, version: str = "v1", name: str = "w") -> dict[str, Any]:
    """Return an object as the bytes of an answer have it."""
    resource = cluster.server.catalogue.by_path("example.com", version, "widgets")
    assert resource is not None
    reads = cluster.server.registry.reads
    entry = reads.entry(Target(resource, "default", name))
    found: dict[str, Any] = msgspec.json.decode(reads.shown_entry(resource, entry).value)
    return found


def in_store(cluster: ControlPlane) -> dict[str, Any]:
    entry = cluster.store.peek("/registry/example.com/widgets/default/w")
    assert entry is not None
    found: dict[str, Any] = msgspec.json.decode(entry.value)
    return found


def forget_decoded(cluster: ControlPlane) -> None:
    """Leave of every widget but its bytes, as after a restart."""
    for entry in cluster.store._state._walk("/registry/example.com/", "/registry/example.com0"):
        entry.memo = None


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("given", "schema", "expected"),
    [
        pytest.param({"a": "x"}, {"a": STRING, "b": OTHER}, {"a": "x", "b": "y"}, id="default"),
        pytest.param({"a": "x"}, {"b": STRING}, {}, id="field that is no longer described"),
        pytest.param({"a": None}, {"a": OTHER}, {"a": "y"}, id="null that may not be, with a default"),
        pytest.param({"a": None}, {"a": STRING}, {}, id="null that may not be"),
        pytest.param({"a": None}, {"a": {**OTHER, "nullable": True}}, {"a": None}, id="nullable"),
    ],
)
async def test_reads_follow_the_present_schema(
    cluster: ControlPlane,
    define: Define,
    given: dict[str, Any],
    schema: dict[str, Any],
    expected: dict[str, Any],
    restarted: bool,
) -> None:
    kind = await define(spec(a={**STRING, "nullable": True}))
    made = await cluster.client.create(widget(kind, spec=given))
    await redefine(cluster, spec(**schema))
    if restarted:
        forget_decoded(cluster)
    assert await content(cluster) == {"spec": expected}
    (listed,) = (await cluster.client.list(served(cluster), "default")).items
    assert listed.content == {"spec": expected}
    assert shown(cluster)["spec"] == expected
    assert shown(cluster)["metadata"]["resourceVersion"] == made.metadata.resource_version


async def test_watches_follow_the_present_schema(cluster: ControlPlane, define: Define) -> None:
    kind = await define(spec(a=STRING))
    await cluster.client.create(widget(kind, spec={"a": "x"}))
    await redefine(cluster, spec(a=STRING, b=OTHER))
    watch = cluster.client.watch(served(cluster), "default", resource_version="")
    event = await anext(aiter(watch))
    assert event.object.content == {"spec": {"a": "x", "b": "y"}}


async def test_selectors_see_defaults(cluster: ControlPlane, define: Define) -> None:
    kind = await define(spec(a=STRING), version={"selectableFields": [{"jsonPath": ".spec.a"}]})
    await cluster.client.create(widget(kind, spec={}))
    await redefine(cluster, spec(a={**STRING, "default": "x"}))
    resource = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
    assert resource is not None
    options = ListOptions(field_selector="spec.a=x")
    found = await cluster.server.registry.list(Target(resource, "default"), SYSTEM, options)
    assert [each.metadata.name for each in found.items] == ["w"]


async def test_write_without_change_stores_defaults(cluster: ControlPlane, define: Define) -> None:
    """As upstream, where bytes are compared: this is how stored objects are migrated."""
    kind = await define(spec(a=STRING))
    made = await cluster.client.create(widget(kind, spec={"a": "x"}))
    await redefine(cluster, spec(a=STRING, b=OTHER))
    kind = served(cluster)
    first = await cluster.client.patch(kind, "w", {}, namespace="default")
    assert first.metadata.resource_version != made.metadata.resource_version
    assert first.metadata.generation == made.metadata.generation, "nothing that the user wants has changed"
    assert in_store(cluster)["spec"] == {"a": "x", "b": "y"}
    second = await cluster.client.patch(kind, "w", {}, namespace="default")
    assert second.metadata.resource_version == first.metadata.resource_version


VERSIONS = [
    {"name": "v1", "served": True, "storage": True},
    {"name": "v2", "served": True, "storage": False},
]


async def test_defaults_of_the_stored_version_are_shown_in_others(cluster: ControlPlane) -> None:
    """Reads complete an object by the schema of the version it is stored in, and prune it by the other's."""
    schemas = [
        spec(a=STRING, b={**STRING, "default": "of v1"}, c={**STRING, "default": "c"}),
        spec(a=STRING, b={**STRING, "default": "of v2"}, d={**STRING, "default": "d"}),
    ]
    versions = [
        {**version, "schema": {"openAPIV3Schema": schema}}
        for version, schema in zip(VERSIONS, schemas, strict=True)
    ]
    await cluster.client.create(definition(versions=versions))
    await clock.sleep(1)
    created = await cluster.client.create(widget(served(cluster, "v1"), spec={"a": "x"}))
    assert created.content == {"spec": {"a": "x", "b": "of v1", "c": "c"}}
    assert await content(cluster, "v2") == {"spec": {"a": "x", "b": "of v1"}}
    assert shown(cluster, "v2")["spec"] == {"a": "x", "b": "of v1"}
    assert shown(cluster, "v2")["apiVersion"] == "example.com/v2"

    made = await cluster.client.create(widget(served(cluster, "v2"), "other", spec={"a": "x"}))
    assert made.content == {"spec": {"a": "x", "b": "of v2"}}, "stored without d, which v1 does not have"
    assert await content(cluster, "v1", "other") == {"spec": {"a": "x", "b": "of v2", "c": "c"}}


async def test_write_without_change_stores_the_storage_version(cluster: ControlPlane) -> None:
    await cluster.client.create(definition(spec(a=STRING), versions=[dict(each) for each in VERSIONS]))
    await clock.sleep(1)
    await cluster.client.create(widget(served(cluster), spec={"a": "x"}))
    found = await cluster.client.get(CustomResourceDefinition, "widgets.example.com")
    swapped = tuple(structs.replace(each, storage=not each.storage) for each in found.spec.versions)
    await cluster.client.update(structs.replace(found, spec=structs.replace(found.spec, versions=swapped)))
    await clock.sleep(1)
    await cluster.client.patch(served(cluster), "w", {}, namespace="default")
    assert in_store(cluster)["apiVersion"] == "example.com/v2"
