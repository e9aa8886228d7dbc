"""Validation of definitions, and their established versions."""

from __future__ import annotations

from typing import Any

import pytest

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import definition


def conditions(found: CustomResourceDefinition) -> dict[str, tuple[str, str | None, str | None]]:
    return {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}


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
async def test_error_common_to_all_versions_has_the_path_of_the_definition(
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


@pytest.mark.parametrize(("spec", "message"), REFUSED)
async def test_invalid_definition_is_refused(
    cluster: ControlPlane, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await cluster.client.create(definition(**spec))
    assert refused.value.code == 422
    assert message in str(refused.value)


async def test_scope_of_an_established_definition_is_immutable(cluster: ControlPlane) -> None:
    await cluster.client.create(definition())
    await clock.sleep(1)
    with pytest.raises(ApiError, match=r'spec.scope: Invalid value: "Cluster": field is immutable'):
        await cluster.client.patch(
            CustomResourceDefinition, "widgets.example.com", {"spec": {"scope": "Cluster"}}
        )


async def test_stored_version_cannot_be_removed(cluster: ControlPlane) -> None:
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
