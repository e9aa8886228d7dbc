"""Parts of definitions by the names that they have inside of Kubernetes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.apiserver.customresources import go_names
from podling.machinery.encoding import codec
from tests.support.custom_resources import definition


def props(plain: dict[str, Any]) -> JSONSchemaProps:
    return codec.convert(plain, JSONSchemaProps, "Ignore")[0]


@pytest.mark.parametrize(
    ("plain", "name", "value"),
    [
        ({}, "Type", ""),
        ({}, "Nullable", False),
        ({}, "Maximum", None),
        ({"maximum": 3}, "Maximum", 3),
        ({"not": {"type": "string"}}, "Not", "string"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "XPreserveUnknownFields", True),
        ({"additionalProperties": False}, "AdditionalProperties", {"Allows": False, "Schema": None}),
        ({"additionalProperties": True}, "AdditionalProperties", {"Allows": True, "Schema": None}),
        (
            {"x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueInvalid"}]},
            "XValidations",
            [
                {
                    "Rule": "true",
                    "Message": "",
                    "MessageExpression": "",
                    "Reason": "FieldValueInvalid",
                    "FieldPath": "",
                    "OptionalOldSelf": None,
                }
            ],
        ),
    ],
)
def test_keyword_of_a_schema_has_its_go_name(plain: dict[str, Any], name: str, value: Any) -> None:
    found = json.loads(str(go_names.schema(props(plain))))[name]
    assert (found["Type"] if name == "Not" else found) == value


def test_schemas_below_are_shown_too() -> None:
    plain = {"properties": {"b": {"type": "string"}, "a": {}}, "items": {"type": "integer"}, "allOf": [{}]}
    found = json.loads(str(go_names.schema(props(plain))))
    assert list(found["Properties"]) == ["a", "b"], "maps are sorted"
    assert found["Properties"]["b"]["Type"] == "string"
    assert (found["Items"]["Schema"]["Type"], found["Items"]["JSONSchemas"]) == ("integer", None)
    assert len(found["AllOf"]) == 1


def test_fields_of_a_schema_are_listed_in_the_order_of_go() -> None:
    plain = {"properties": {"a": {}}, "type": "object", "nullable": False, "x-kubernetes-map-type": "atomic"}
    assert list(go_names.schema_fields(props(plain))) == ["Type", "Properties", "XMapType"]


def test_version_leaves_out_the_parts_common_to_all() -> None:
    columns = [{"name": "A", "type": "string", "jsonPath": ".a"}]
    given = definition(
        version={"additionalPrinterColumns": columns, "subresources": {"status": {}}}
    ).spec.versions
    (whole,) = json.loads(str(go_names.versions(given, ())))
    shared = ("schema", "subresources", "columns", "selectable")
    (rest,) = json.loads(str(go_names.versions(given, shared)))
    assert whole["Subresources"] == {"Status": {}, "Scale": None}
    assert whole["AdditionalPrinterColumns"] == [
        {"Name": "A", "Type": "string", "Format": "", "Description": "", "Priority": 0, "JSONPath": ".a"}
    ]
    assert whole["Schema"]["OpenAPIV3Schema"]["Type"] == "object"
    assert rest == whole | {"Schema": None, "Subresources": None, "AdditionalPrinterColumns": None}
