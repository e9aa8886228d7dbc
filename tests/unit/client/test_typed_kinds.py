"""Structs for custom kinds, over the server that knows plain data."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import Struct, structs

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import WatchEventType
from podling.client.typed_kinds import TypedClient, TypedObject, defined_resource
from podling.extensions.extension import Extension
from podling.machinery.encoding.custom import CustomResource
from podling.testing import ControlPlane, memory_cluster
from tests.support.custom_resources import definition

DEFINITION = definition()


class WidgetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    side_length: int = 0


class Widget(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(DEFINITION)

    spec: WidgetSpec = msgspec.field(default_factory=lambda: WidgetSpec())


class WidgetExtension(Extension):
    def definitions(self):  # type: ignore[no-untyped-def]
        return (DEFINITION,)


def widget(name: str, side: int) -> Widget:
    metadata = ObjectMeta(name=name, namespace="default")
    return Widget(metadata=metadata, spec=WidgetSpec(side_length=side))


async def stored(plane: ControlPlane, name: str) -> dict[str, object]:
    found = await plane.client.get(Widget.custom_resource.type, name, "default")
    return dict(found.content)


async def test_structs_are_written_and_read_as_plain_data() -> None:
    async with memory_cluster(extensions=[WidgetExtension()]) as plane:
        client = TypedClient(plane.client)
        made = await client.create(widget("a", 3))
        assert isinstance(made, Widget)
        assert await stored(plane, "a") == {"spec": {"sideLength": 3}}
        changed = await client.update(structs.replace(made, spec=WidgetSpec(side_length=4)))
        assert changed.spec.side_length == 4
        patched = await client.patch(Widget, "a", {"spec": {"sideLength": 5}}, "default")
        assert (patched.spec.side_length, (await client.get(Widget, "a", "default")).spec) == (
            5,
            patched.spec,
        )
        listed = await client.list(Widget, "default")
        assert [type(each) for each in listed.items] == [Widget]
        await client.delete(Widget, "a", "default")
        assert (await client.list(Widget)).items == ()


async def test_watch_yields_structs() -> None:
    async with memory_cluster(extensions=[WidgetExtension()]) as plane:
        client = TypedClient(plane.client)
        revision = (await client.list(Widget)).resource_version
        stream = client.watch(Widget, resource_version=revision)
        await client.create(widget("a", 3))
        event = await anext(stream)
        assert (event.type, event.object.spec.side_length) == (WatchEventType.ADDED, 3)


async def test_other_kinds_are_passed_on() -> None:
    async with memory_cluster() as plane:
        client = TypedClient(plane.client)
        made = await client.create(
            ConfigMap(metadata=ObjectMeta(name="m", namespace="default"), data={"a": "b"})
        )
        assert (await client.get(ConfigMap, "m", "default")) is made
