"""Rules of custom objects: status, scale, finalizers, and deprecated versions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.autoscaling_v1 import Scale
from podling.apiserver.customresources.served_definition import serve
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, definition, widget

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


def old_version(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": name == "v1", **more}


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ([old_version("v1", deprecated=True)], "example.com/v1 Widget is deprecated"),
        (
            [old_version("v1", deprecated=True), old_version("v2"), old_version("v3", served=False)],
            "example.com/v1 Widget is deprecated; use example.com/v2 Widget",
        ),
        ([old_version("v1", deprecated=True, deprecationWarning="No more!")], "No more!"),
        ([old_version("v1"), old_version("v1beta1", deprecated=True)], ""),
    ],
)
def test_deprecated_version_is_a_warning(versions: list[dict[str, Any]], text: str) -> None:
    assert serve(definition(versions=versions)).rules["v1"].deprecation == text
