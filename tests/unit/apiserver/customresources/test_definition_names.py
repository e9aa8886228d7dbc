"""Accepted names of definitions, and conflicts with names of other definitions."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.testing import ControlPlane
from tests.support.custom_resources import definition


def conditions(found: CustomResourceDefinition) -> dict[str, tuple[str, str | None, str | None]]:
    return {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}


async def shown(cluster: ControlPlane, name: str) -> CustomResourceDefinition:
    await clock.sleep(1)
    return await cluster.client.get(CustomResourceDefinition, name)


async def test_free_names_are_accepted(cluster: ControlPlane) -> None:
    made = await cluster.client.create(definition())
    assert made.status.stored_versions == ("v1",)
    assert (made.spec.names.singular, made.spec.names.list_kind) == ("widget", "WidgetList")
    found = await shown(cluster, "widgets.example.com")
    assert found.status.accepted_names == found.spec.names
    assert conditions(found) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"plural": "gadgets", "kind": "Widget"}, "ListKindConflict", '"WidgetList" is already in use'),
        ({"plural": "wd", "kind": "Gadget"}, "PluralConflict", '"wd" is already in use'),
        (
            {"plural": "gadgets", "kind": "Gadget", "singular": "widget"},
            "SingularConflict",
            '"widget" is already in use',
        ),
        (
            {"plural": "gadgets", "kind": "Gadget", "shortNames": ["wd"]},
            "ShortNamesConflict",
            '"wd" is already in use',
        ),
    ],
)
async def test_names_of_another_definition_are_not_accepted(
    cluster: ControlPlane, names: dict[str, Any], reason: str, message: str
) -> None:
    await cluster.client.create(definition())
    await clock.sleep(1)
    second = definition(names={"shortNames": [], **names})
    await cluster.client.create(second)
    found = await shown(cluster, second.metadata.name or "")
    assert conditions(found)["NamesAccepted"] == ("False", reason, message)
    assert conditions(found)["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert cluster.server.catalogue.by_path("example.com", "v1", names["plural"]) is None
    await cluster.client.delete(CustomResourceDefinition, "widgets.example.com")
    await clock.sleep(10)
    found = await shown(cluster, second.metadata.name or "")
    assert conditions(found)["Established"][0] == "True", "the names are free again"
