"""Definitions made ready to be served."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources.served_definition import serve
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, definition


def version(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": name == "v1", **more}


async def test_served_versions_are_listed_by_priority(cluster: ControlPlane, define: Define) -> None:
    names = ["v1alpha1", "v1", "v2beta1", "v2"]
    await define(versions=[version("v1"), *(version(name) for name in names if name != "v1")])
    assert [each.version for each in cluster.server.catalogue.resources()] == [
        "v2",
        "v1",
        "v2beta1",
        "v1alpha1",
    ]


async def test_unserved_version_has_rules_but_no_path(cluster: ControlPlane, define: Define) -> None:
    await define(versions=[version("v1"), version("v2", served=False)])
    catalogue = cluster.server.catalogue
    assert catalogue.by_path("example.com", "v1", "widgets") is not None
    assert catalogue.by_path("example.com", "v2", "widgets") is None
    found = await cluster.client.get(CustomResourceDefinition, "widgets.example.com")
    assert set(serve(found).rules) == {"v1", "v2"}


def test_definition_that_is_not_established_is_not_served() -> None:
    found = serve(definition())
    assert (found.resources, set(found.rules)) == ((), {"v1"})


def test_schemas_are_kept_while_the_versions_stay_the_same() -> None:
    first = definition()
    before = serve(first)
    labelled = structs.replace(first, metadata=structs.replace(first.metadata, labels={"a": "b"}))
    assert serve(labelled, before).schemas is before.schemas
    other = definition(versions=[version("v1"), version("v2")])
    assert serve(other, before).schemas is not before.schemas


async def test_path_of_a_custom_resource_follows_its_definition(
    cluster: ControlPlane, define: Define
) -> None:
    catalogue, path = cluster.server.catalogue, "/apis/example.com/v1/namespaces/default/widgets/w"
    assert catalogue.parse_path(path) is None
    await define()
    found = catalogue.parse_path(path)
    assert found is not None
    assert catalogue.parse_path(path) is found, "cached"
    assert catalogue.parse_path("/apis/example.com/v2/widgets") is None
    await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
    await clock.sleep(20)
    assert catalogue.parse_path(path) is None
