"""The life cycle of definitions: deletion after their objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.client.base import WatchEvent, WatchEventType
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, widget


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
