"""Watches of custom objects end with their definition, after the last event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceColumnDefinition, CustomResourceDefinition
from podling.apiserver.registry.watch import ObjectWatch
from podling.client.requests import SYSTEM, ListOptions, Target
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, widget

NAME = "widgets.example.com"


def watch(cluster: ControlPlane, kind: type[Any]) -> ObjectWatch:
    """From now on, for ever."""
    options = ListOptions(resource_version=str(cluster.store.revision))
    return cluster.backend.watch(Target(kind.custom_resource, "default"), SYSTEM, options)


async def told(events: ObjectWatch) -> list[tuple[str, str]]:
    """Everything until the watch ends; it has a minute of virtual time for that."""
    async with asyncio.timeout(60):
        return [(each.type.value, each.object.metadata.name) async for each in events]


async def test_watch_ends_after_the_deletion_of_every_object(cluster: ControlPlane, define: Define) -> None:
    kind = await define()
    await cluster.client.create(widget(kind))
    begun = clock.monotonic()
    watching = asyncio.create_task(told(watch(cluster, kind)))
    unread = watch(cluster, kind)
    await cluster.client.delete(CustomResourceDefinition, NAME)
    assert await watching == [("DELETED", "w")]
    assert await told(unread) == [("DELETED", "w")]
    assert clock.monotonic() - begun < 10, "long before any time-out"


def unserved(definition: CustomResourceDefinition) -> CustomResourceDefinition:
    versions = tuple(structs.replace(each, served=each.name != "v1") for each in definition.spec.versions)
    return structs.replace(definition, spec=structs.replace(definition.spec, versions=versions))


def with_columns(definition: CustomResourceDefinition) -> CustomResourceDefinition:
    column = CustomResourceColumnDefinition(name="X", type="string", json_path=".x")
    versions = tuple(
        structs.replace(each, additional_printer_columns=(column,)) for each in definition.spec.versions
    )
    return structs.replace(definition, spec=structs.replace(definition.spec, versions=versions))


@pytest.mark.parametrize("change", [unserved, with_columns])
async def test_changed_definition_ends_the_watches(
    cluster: ControlPlane,
    define: Define,
    change: Callable[[CustomResourceDefinition], CustomResourceDefinition],
) -> None:
    versions = [
        {"name": "v1", "served": True, "storage": False},
        {"name": "v2", "served": True, "storage": True},
    ]
    kind = await define(versions=versions)
    events = watch(cluster, kind)
    await cluster.client.create(widget(kind))
    await cluster.client.update(change(await cluster.client.get(CustomResourceDefinition, NAME)))
    assert await told(events) == [("ADDED", "w")]


async def test_watch_continues_if_the_served_resource_is_unchanged(
    cluster: ControlPlane, define: Define
) -> None:
    kind = await define()
    events = watch(cluster, kind)
    labels = {"metadata": {"labels": {"a": "b"}}}
    await cluster.client.patch(CustomResourceDefinition, NAME, labels)
    await define(names={"plural": "others", "kind": "Other", "shortNames": []})
    await cluster.client.create(widget(kind))
    assert (await anext(events)).type.value == "ADDED"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(300):
            await anext(events)
