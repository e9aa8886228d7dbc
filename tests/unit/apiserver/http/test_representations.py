"""Representations of objects: plain, as tables, as metadata alone; in lists and in watches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.core_v1 import Container, Pod, PodSpec
from podling.api.flowcontrol_v1 import FlowSchema, FlowSchemaSpec, PriorityLevelConfigurationReference
from podling.api.meta_v1 import ListMeta, ObjectMeta
from podling.apiserver.http.negotiation import Form
from podling.apiserver.http.representations import Renderer
from podling.apiserver.registry.objects import entry_of
from podling.client.base import WatchEventType
from podling.client.requests import Target
from podling.machinery.scheme import resource_of
from podling.store.base import Entry
from podling.testing import ControlPlane

PODS = resource_of(Pod)


def decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)


def renderer(cluster: ControlPlane, form: Form, include: str = "Metadata", version: str = "v1") -> Renderer:
    return Renderer(PODS, cluster.backend.rules_for(PODS), form, include, version)


def listed(renderer: Renderer, entries: Sequence[Entry], metadata: ListMeta, now: datetime) -> bytes:
    """Return the list of ``entries``."""
    return b"".join(renderer.pieces(entries, metadata, now, renderer.size_of(entries)))


async def a_pod(cluster: ControlPlane, name: str = "web") -> Entry:
    spec = PodSpec(containers=(Container(name="c", image="i"),))
    await cluster.client.create(Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))
    return cluster.backend.reads.entry(Target(PODS, "default", name))


async def test_plain_object_is_the_stored_object(cluster: ControlPlane) -> None:
    entry = await a_pod(cluster)
    assert renderer(cluster, Form.OBJECT).one(entry, clock.now()) is entry.value


async def test_table_of_pods_has_their_columns(cluster: ControlPlane) -> None:
    entry = await a_pod(cluster)
    later = clock.now() + timedelta(minutes=3)
    metadata = ListMeta(resource_version="9")
    table = decoded(listed(renderer(cluster, Form.TABLE), [entry], metadata, later))
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "9"}
    shown = [column["name"] for column in table["columnDefinitions"] if column["priority"] == 0]
    assert shown == ["Name", "Ready", "Status", "Restarts", "Age"]
    (row,) = table["rows"]
    assert row["cells"][:5] == ["web", "0/1", "Pending", "0", "3m"]
    assert (row["object"]["kind"], row["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "web")
    assert "spec" not in row["object"]


async def test_include_object_selects_the_object_in_table_rows(cluster: ControlPlane) -> None:
    entry = await a_pod(cluster)
    now, metadata = clock.now(), ListMeta()
    whole = decoded(listed(renderer(cluster, Form.TABLE, "Object"), [entry], metadata, now))
    assert whole["rows"][0]["object"]["spec"]["containers"][0]["name"] == "c"
    bare = decoded(listed(renderer(cluster, Form.TABLE, "None"), [entry], metadata, now))
    assert bare["rows"][0]["object"] is None


async def test_flow_schemas_are_shown_in_the_order_in_which_they_are_tried(cluster: ControlPlane) -> None:
    kind = resource_of(FlowSchema)
    for name, precedence in (("a", 700), ("c", 20), ("b", 20)):
        level = PriorityLevelConfigurationReference(name="exempt")
        spec = FlowSchemaSpec(matching_precedence=precedence, priority_level_configuration=level)
        await cluster.client.create(FlowSchema(metadata=ObjectMeta(name=name), spec=spec))
    entries = [cluster.backend.reads.entry(Target(kind, "", name)) for name in ("a", "b", "c")]
    shown = Renderer(kind, cluster.backend.rules_for(kind), Form.TABLE)
    table = decoded(listed(shown, entries, ListMeta(), clock.now()))
    assert [row["cells"][0] for row in table["rows"]] == ["b", "c", "a"]


async def test_partial_metadata_has_no_other_fields(cluster: ControlPlane) -> None:
    entry = await a_pod(cluster)
    one = decoded(renderer(cluster, Form.METADATA).one(entry, clock.now()))
    assert set(one) == {"kind", "apiVersion", "metadata"}
    many = decoded(listed(renderer(cluster, Form.METADATA_LIST), [entry], ListMeta(), clock.now()))
    assert many["kind"] == "PartialObjectMetadataList"
    assert many["items"] == [one]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_every_part_has_the_requested_meta_version(cluster: ControlPlane, version: str) -> None:
    entry, now = await a_pod(cluster), clock.now()
    for form in (Form.TABLE, Form.METADATA_LIST):
        shown = renderer(cluster, form, version=version)
        many = decoded(listed(shown, [entry], ListMeta(), now))
        event = decoded(shown.event(WatchEventType.ADDED, entry, now, first=True))["object"]
        rows = [*many.get("rows", ()), *event.get("rows", ())]
        inner = [row["object"] for row in rows] + many.get("items", [])
        assert {each["apiVersion"] for each in (many, event, *inner)} == {f"meta.k8s.io/{version}"}


async def test_plain_list_has_kind_and_items(cluster: ControlPlane) -> None:
    entries = [await a_pod(cluster, name) for name in ("a", "b")]
    metadata = ListMeta(resource_version="9", continue_="more", remaining_item_count=3)
    found = decoded(listed(renderer(cluster, Form.OBJECT), entries, metadata, clock.now()))
    assert (found["kind"], found["apiVersion"]) == ("PodList", "v1")
    assert found["metadata"] == {"resourceVersion": "9", "continue": "more", "remainingItemCount": 3}
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "b"]
    whole = [decoded(entry.value) for entry in entries]
    said = {"kind": "Pod", "apiVersion": "v1"}
    assert [{**said, **item} for item in found["items"]] == whole, "nothing else is left out"
    again = listed(renderer(cluster, Form.OBJECT), entries, metadata, clock.now())
    assert decoded(again) == found


async def test_events_of_a_table_name_the_columns_once(cluster: ControlPlane) -> None:
    entry, now = await a_pod(cluster), clock.now()
    form = renderer(cluster, Form.TABLE)
    first = decoded(form.event(WatchEventType.ADDED, entry, now, first=True))
    second = decoded(form.event(WatchEventType.MODIFIED, entry, now, first=False))
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert (first["type"], second["type"]) == ("ADDED", "MODIFIED")
    assert second["object"]["rows"][0]["cells"][0] == "web"


async def test_a_bookmark_has_its_revision_in_every_form(cluster: ControlPlane) -> None:
    bookmark = entry_of(Pod(metadata=ObjectMeta(resource_version="42")))
    for form in (Form.OBJECT, Form.METADATA, Form.TABLE):
        event = decoded(
            renderer(cluster, form).event(WatchEventType.BOOKMARK, bookmark, clock.now(), first=False)
        )
        shown = event["object"]["rows"][0]["object"] if form is Form.TABLE else event["object"]
        assert shown["metadata"]["resourceVersion"] == "42"
