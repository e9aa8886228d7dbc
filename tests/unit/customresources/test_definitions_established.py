"""A definition asks for names, gets them, and is established; or is told which of them is taken."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery import codec
from podling.machinery.errors import ApiError
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
async def test_taken_names_are_not(
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


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"group": "local"}, 'spec.group: Invalid value: "local": should be a domain with at least one dot'),
    (
        {"scope": "Galaxy"},
        'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"',
    ),
    (
        {"versions": [{"name": "v1", "served": True, "storage": False}]},
        "must have exactly one version marked as storage version",
    ),
    (
        {
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {"name": "v2", "served": True, "storage": True},
            ]
        },
        "must have exactly one version marked as storage version",
    ),
    (
        {
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {"name": "v1", "served": True, "storage": False},
            ]
        },
        "must contain unique version names",
    ),
    (
        {"names": {"kind": "Wid-Get_"}},
        'spec.names.kind: Invalid value: "Wid-Get_": may have mixed case, but should otherwise match: ',
    ),
    (
        {"names": {"listKind": "Widget"}},
        'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
    ),
    (
        {"version": {"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]}},
        'additionalPrinterColumns[0].type: Unsupported value: "text": supported values: '
        '"boolean", "date", "integer", "number", "string"',
    ),
    (
        {"conversion": {"strategy": "Webhook"}},
        "spec.conversion.webhook.clientConfig: Required value: required when strategy is set to Webhook",
    ),
    (
        {
            "version": {
                "subresources": {
                    "scale": {"specReplicasPath": ".replicas", "statusReplicasPath": ".status.n"}
                }
            }
        },
        'spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".replicas": '
        "must be a json path under .spec",
    ),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
async def test_what_a_definition_must_not_say(
    cluster: ControlPlane, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(definition(**spec))
    assert refused.value.code == 422
    assert message in str(refused.value)


async def test_what_is_established_cannot_change(cluster: ControlPlane) -> None:
    await cluster.client.create(definition())
    await clock.sleep(1)
    with pytest.raises(ApiError, match=r'spec.scope: Invalid value: "Cluster": field is immutable'):
        await cluster.client.patch(
            CustomResourceDefinition, "widgets.example.com", {"spec": {"scope": "Cluster"}}
        )


async def test_a_version_that_was_stored_must_stay(cluster: ControlPlane) -> None:
    old = {"name": "v1", "served": True, "storage": True}
    new = {"name": "v2", "served": True, "storage": False}
    await cluster.client.create(definition(versions=[dict(old), dict(new)]))
    await clock.sleep(1)
    name = "widgets.example.com"
    moved = definition(versions=[{**old, "storage": False}, {**new, "storage": True}])
    plain = [codec.to_plain(each) for each in moved.spec.versions]
    found = await cluster.client.patch(CustomResourceDefinition, name, {"spec": {"versions": plain}})
    assert found.status.stored_versions == ("v1", "v2")
    with pytest.raises(
        ApiError, match=r"status.storedVersions\[0\]: Invalid value: \"v1\": missing from spec.versions"
    ):
        await cluster.client.patch(CustomResourceDefinition, name, {"spec": {"versions": plain[1:]}})
    await cluster.client.patch(
        CustomResourceDefinition, name, {"status": {"storedVersions": ["v2"]}}, subresource="status"
    )
    found = await cluster.client.patch(CustomResourceDefinition, name, {"spec": {"versions": plain[1:]}})
    assert [each.name for each in found.spec.versions] == ["v2"]
