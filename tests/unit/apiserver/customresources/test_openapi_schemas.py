"""Schemas of definitions in the OpenAPI documents. The cases are those of upstream's own tests."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.openapi_documents import _Schemas
from podling.apiserver.customresources.openapi_schemas import v2_schema, v3_schema
from podling.machinery.encoding.custom import CustomResource
from tests.support.custom_resources import root_schema

Schema = dict[str, Any]

METADATA = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
BOOLEAN, STRING, OPEN = (
    {"type": "boolean"},
    {"type": "string"},
    {"x-kubernetes-preserve-unknown-fields": True},
)
EITHER, PORT = [{"type": "integer"}, {"type": "string"}], {"x-kubernetes-int-or-string": True}
ALTERNATIVES = [BOOLEAN, STRING]
SAME: list[Schema] = [
    {"description": "test"},
    {"type": "string", "format": "test2"},
    {"title": "test"},
    {"maximum": 6.4, "exclusiveMaximum": True},
    {"minimum": 6.4, "exclusiveMinimum": True},
    {"minimum": 0},
    {"maxLength": 64},
    {"maxLength": 0},
    {"minLength": 64},
    {"pattern": "test"},
    {"maxItems": 64},
    {"minItems": 64},
    {"uniqueItems": True},
    {"multipleOf": 6.4},
    {"enum": ["test", "test2"]},
    {"maxProperties": 64},
    {"minProperties": 64},
    {"required": ["test", "test2"]},
    {"items": BOOLEAN},
    {"properties": {"test": BOOLEAN}},
    {"additionalProperties": BOOLEAN},
    {"additionalProperties": True},
    {"externalDocs": {"description": "test", "url": "test2"}},
    {"example": "test"},
    {"example": ""},
    {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
    {"x-kubernetes-map-type": "atomic"},
    {"x-kubernetes-validations": [{"rule": "true"}]},
    PORT,
    OPEN,
]


@pytest.mark.parametrize("schema", SAME, ids=str)
def test_version_2_keeps_supported_keywords(schema: Schema) -> None:
    assert v2_schema(schema, METADATA) == schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "object", "nullable": True}, {}, id="nullable"),
        pytest.param(
            {"type": "array", "nullable": True, "items": STRING, "description": "d", "maxItems": 3},
            {"description": "d", "maxItems": 3},
            id="nullable list",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {
                    "a": {"nullable": True, "type": "string"},
                    "b": {"nullable": True, "type": "string"},
                    "c": STRING,
                },
                "required": ["a", "c"],
            },
            {"type": "object", "properties": {"a": {}, "b": {}, "c": STRING}, "required": ["c"]},
            id="nullable and required",
        ),
        pytest.param(
            {
                "type": "object",
                "additionalProperties": {"nullable": True, "type": "string"},
                "required": ["a", "c"],
            },
            {"type": "object", "additionalProperties": {}},
            id="nullable values and required",
        ),
        pytest.param({"default": "test"}, {}, id="default"),
        pytest.param({"allOf": ALTERNATIVES}, {}, id="allOf"),
        pytest.param({"oneOf": ALTERNATIVES}, {}, id="oneOf"),
        pytest.param({"anyOf": ALTERNATIVES}, {}, id="anyOf"),
        pytest.param({"not": BOOLEAN}, {}, id="not"),
        pytest.param({**STRING, "uniqueItems": False, "format": "", "nullable": False}, STRING, id="zero"),
        pytest.param({**OPEN, "type": "array", "items": STRING}, OPEN, id="preserving list"),
        pytest.param({**OPEN, "type": "object", "properties": {"foo": STRING}}, OPEN, id="preserving object"),
        pytest.param(
            {**OPEN, "type": "object", "additionalProperties": {"type": "string", "default": "x"}},
            {**OPEN, "additionalProperties": STRING},
            id="preserving map",
        ),
        pytest.param({**PORT, "anyOf": EITHER}, PORT, id="integer or string"),
        pytest.param({**PORT, "allOf": [{"anyOf": EITHER}, {"minimum": 42}]}, PORT, id="limited either"),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN},
            {"x-kubernetes-embedded-resource": True, **OPEN},
            id="open embedded object",
        ),
        pytest.param({"type": "array", "maxItems": 3}, {"maxItems": 3}, id="list of anything"),
    ],
)
def test_version_2_drops_unsupported_keywords(schema: Schema, expected: Schema) -> None:
    assert v2_schema(schema, METADATA) == expected
    inside = v2_schema({"type": "object", "properties": {"x": {"type": "array", "items": schema}}}, METADATA)
    assert inside["properties"]["x"]["items"] == expected


@pytest.mark.parametrize("convert", [v2_schema, v3_schema])
def test_embedded_objects_have_type_and_metadata(convert: Any) -> None:
    made = convert({"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}, METADATA)
    assert made["required"] == ["spec", "kind", "apiVersion"]
    assert made["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert made["properties"]["metadata"] == METADATA


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"nullable": True, "default": {}}, {"nullable": True, "default": {}}),
        (PORT, {**PORT, "anyOf": EITHER}),
        ({**PORT, "anyOf": EITHER}, {**PORT, "anyOf": EITHER}),
        ({**PORT, "allOf": [{"anyOf": EITHER}]}, {**PORT, "allOf": [{"anyOf": EITHER}]}),
        (
            {**PORT, "anyOf": [{"minimum": 42}], "allOf": [{"minimum": 42}]},
            {**PORT, "anyOf": [{"minimum": 42}], "allOf": [{"anyOf": EITHER}, {"minimum": 42}]},
        ),
    ],
)
def test_version_3_spells_integers_or_strings_out(schema: Schema, expected: Schema) -> None:
    assert v3_schema(schema, METADATA) == expected


def definition_of(schema: Schema | None, version: int, selectable: tuple[str, ...] = ()) -> Schema:
    resource = CustomResource(
        group="bar.k8s.io",
        version="v1",
        plural="foos",
        singular="foo",
        kind="Foo",
        namespaced=True,
        selectable_fields=selectable,
        schema=None if schema is None else root_schema(schema),
    )
    schemas = _Schemas(version)
    schemas.reference(resource.type)
    return schemas.definitions["io.k8s.bar.v1.Foo"]


MARK = {"x-kubernetes-group-version-kind": [{"group": "bar.k8s.io", "version": "v1", "kind": "Foo"}]}


@pytest.mark.parametrize("version", [2, 3])
def test_root_has_type_and_metadata(version: int) -> None:
    assert definition_of(None, version) == {"type": "object", **MARK}
    assert definition_of({}, version) == {"type": "object", **MARK}
    for schema in ({"type": "object"}, {"type": "object", "properties": {"spec": {"type": "object"}}}):
        found = definition_of(schema, version, (".spec.a",))
        assert found["type"] == "object"
        assert found["properties"].keys() == {"apiVersion", "kind", "metadata", *schema.get("properties", {})}
        assert found["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.a"}]


def test_root_that_preserves_unknown_fields() -> None:
    schema = {"type": "object", **OPEN, "properties": {"spec": {"type": "object"}}}
    assert definition_of(schema, 2) == {"type": "object", **MARK}
    assert definition_of(schema, 3)["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
