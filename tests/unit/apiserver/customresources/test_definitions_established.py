"""A definition asks for names, gets them, and is established; or is told which of them is taken."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources.catalogue import serve
from podling.machinery.encoding import codec
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


FLAT = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "object"},
        "d": {"type": "object", "additionalProperties": {"type": "string"}},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
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
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
        "boolean,date,integer,number,string",
    ),
    (
        {
            "version": {
                "additionalPrinterColumns": [{"name": "A", "type": "", "jsonPath": "a", "format": "x"}]
            }
        },
        "[spec.additionalPrinterColumns[0].type: Required value: must be one of "
        "boolean,date,integer,number,string, spec.additionalPrinterColumns[0].format: Invalid value: "
        '"x": must be one of byte,date,date-time,double,float,int32,int64,password, '
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting '
        "with .]",
    ),
    (
        {"versions": [{"name": "1", "served": True, "storage": True}]},
        'spec.versions[0].name: Invalid value: "1": a DNS-1035 label must consist of lower case',
    ),
    (
        {"versions": [{"name": "1", "served": True, "storage": True}]},
        'spec.version: Invalid value: "1": a DNS-1035 label must consist of lower case',
    ),
    (
        {"version": {"schema": {}, "served": False}},
        "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
    ),
    (
        {"version": {"deprecated": True, "deprecationWarning": "a\tb"}},
        'spec.versions[0].deprecationWarning: Invalid value: "a\\tb": must only contain printable UTF-8 '
        "characters; non-printable character found at index 1",
    ),
    (
        {
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {"name": "v1", "served": True, "storage": False},
            ]
        },
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,'
        '"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,'
        '"SelectableFields":null},{"Name":"v1"',
    ),
    (
        {
            "version": {
                "schema": {"openAPIV3Schema": FLAT},
                "selectableFields": [
                    {"jsonPath": path} for path in ("", ".a", ".a", ".b", ".c", ".d['x']", ".metadata.name")
                ],
            }
        },
        "[spec.selectableFields[0].jsonPath: Required value, "
        'spec.selectableFields[2].jsonPath: Duplicate value: ".a", '
        'spec.selectableFields[3].jsonPath: Invalid value: ".b": must point to a field of type string, '
        "boolean or integer. Enum string fields and strings with formats are allowed., "
        'spec.selectableFields[4].jsonPath: Invalid value: ".c": is an invalid path: does not refer to a '
        "valid field, spec.selectableFields[5].jsonPath: Invalid value: \".d['x']\": is an invalid path: "
        'array notation is not allowed, spec.selectableFields[6].jsonPath: Invalid value: ".metadata.name": '
        "must not point to fields in metadata]",
    ),
    (
        {"conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
        "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to "
        "Webhook",
    ),
    (
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v2", "v2", "-"]},
            }
        },
        "[spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required, "
        'spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version, '
        'spec.conversion.conversionReviewVersions[2]: Invalid value: "-": a DNS-1035 label',
    ),
    (
        {"conversion": {"strategy": "Webhook"}},
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ),
    (
        {
            "version": {
                "subresources": {
                    "scale": {"specReplicasPath": ".replicas", "statusReplicasPath": ".status.n"}
                }
            }
        },
        'spec.subresources.scale.specReplicasPath: Invalid value: ".replicas": '
        "should be a json path under .spec",
    ),
]


WRONG_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"f": {}}}}
RIGHT_SCHEMA = {"openAPIV3Schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("schemas", "path"),
    [
        ([WRONG_SCHEMA], "spec.validation.openAPIV3Schema.properties[f].type"),
        ([WRONG_SCHEMA, WRONG_SCHEMA], "spec.validation.openAPIV3Schema.properties[f].type"),
        ([RIGHT_SCHEMA, WRONG_SCHEMA], "spec.versions[1].schema.openAPIV3Schema.properties[f].type"),
    ],
)
async def test_what_all_versions_have_alike_is_told_of_the_definition(
    cluster: ControlPlane, schemas: list[dict[str, Any]], path: str
) -> None:
    versions = [
        {"name": f"v{number}", "served": True, "storage": number == 1, "schema": schema}
        for number, schema in enumerate(schemas, 1)
    ]
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(definition(versions=versions))
    details = refused.value.status.details
    assert details is not None
    assert [cause.field_ for cause in details.causes] == [path]


@pytest.mark.parametrize(
    ("annotation", "condition"),
    [
        (
            "https://example.com/pull/1",
            ("True", "ApprovedAnnotation", "approved in https://example.com/pull/1"),
        ),
        (
            "unapproved, an experiment",
            ("False", "UnapprovedAnnotation", 'not approved: "unapproved, an experiment"'),
        ),
    ],
)
async def test_definitions_in_kubernetes_own_groups_say_who_approved(
    cluster: ControlPlane, annotation: str, condition: tuple[str, str, str]
) -> None:
    asked = definition(group="widgets.k8s.io")
    key = "metadata.annotations[api-approved.kubernetes.io]"
    with pytest.raises(ApiError) as missing:
        await cluster.client.create(asked)
    assert f'{key}: Required value: protected groups must have approval annotation "api-' in str(
        missing.value
    )
    for given, refused in ((annotation, False), ("because", True)):
        metadata = structs.replace(asked.metadata, annotations={"api-approved.kubernetes.io": given})
        if refused:
            with pytest.raises(ApiError) as malformed:
                await cluster.client.create(structs.replace(asked, metadata=metadata))
            assert f'{key}: Invalid value: "because": ' in str(malformed.value)
        else:
            await cluster.client.create(structs.replace(asked, metadata=metadata))
    found = await shown(cluster, "widgets.widgets.k8s.io")
    assert conditions(found)["KubernetesAPIApprovalPolicyConformant"] == condition


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
def test_a_deprecated_version_says_what_to_use(versions: list[dict[str, Any]], text: str) -> None:
    assert serve(definition(versions=versions)).rules["v1"].deprecation == text
