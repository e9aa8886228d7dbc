"""Validation of schemas in definitions: structural, with each type in one place."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.apiserver.customresources.schema_validation import schema_errors
from podling.machinery.encoding import codec
from podling.machinery.fields import Path

ROOT: dict[str, Any] = {"type": "object"}


def errors(plain: dict[str, Any]) -> list[str]:
    schema = codec.convert(plain, JSONSchemaProps, "Ignore")[0]
    return [str(each) for each in schema_errors(Path("s"), schema)]


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {**ROOT, "properties": {"f": schema}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, ["s.type: Required value: must not be empty at the root"]),
        ({"type": "string"}, ['s.type: Invalid value: "string": must be object at the root']),
        (
            {**ROOT, "additionalProperties": {"type": "string"}},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (field({}), ["s.properties[f].type: Required value: must not be empty for specified object fields"]),
        (field({"type": "array"}), ["s.properties[f].items: Required value: must be specified"]),
        (
            field({"type": "array", "items": {}}),
            ["s.properties[f].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            field({"type": "integer", "anyOf": [{"type": "integer"}]}),
            ["s.properties[f].anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (field({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}), []),
        (
            field({"type": "object", "x-kubernetes-embedded-resource": True}),
            [
                "s.properties[f].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
            ],
        ),
        (
            field({"type": "string", "pattern": "("}),
            [
                's.properties[f].pattern: Invalid value: "(": must be a valid regular expression, but '
                "isn't: error parsing regexp: missing closing ): `(`"
            ],
        ),
        (
            {
                **ROOT,
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ],
        ),
        (
            {
                **ROOT,
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
                },
            },
            [],
        ),
        (
            field({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            [
                "s.properties[f].uniqueItems: Forbidden: uniqueItems cannot be set to true since the "
                "runtime complexity becomes quadratic"
            ],
        ),
        (
            field(
                {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a"],
                }
            ),
            [
                "s.properties[f].items.properties[a].default: Required value: this property is in "
                "x-kubernetes-list-map-keys, so it must have a default or be a required property"
            ],
        ),
        (
            field({"type": "integer", "default": "x"}),
            ['s.properties[f].default: Invalid value: "string":  in body must be of type integer: "string"'],
        ),
        (
            field({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}),
            ["s.properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified"],
        ),
        (
            field({**ROOT, "properties": {"a": {"type": "string"}}, "allOf": [{"required": ["b"]}]}),
            [],
        ),
        (
            {**ROOT, "allOf": [{"properties": {"b": {"minLength": 1}}}]},
            ["s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]"],
        ),
        (
            {**ROOT, "anyOf": [{"properties": {"metadata": {}}, "items": {"title": "x"}}]},
            [
                "s.anyOf[0].items.title: Forbidden: must be empty to be structural",
                "s.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
                "s.items: Required value: because it is defined in s.anyOf[0].items",
                "s.properties[metadata]: Required value: because it is defined in "
                "s.anyOf[0].properties[metadata]",
            ],
        ),
        (
            field({"type": "string", "$schema": "x"}),
            ["s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
        ),
        (
            field({"type": "string", "id": "x", "$ref": "y"}),
            [
                "s.properties[f].id: Forbidden: id is not supported",
                "s.properties[f].$ref: Forbidden: $ref is not supported",
            ],
        ),
        (
            field({"type": "null"}),
            [
                's.properties[f].type: Unsupported value: "null": supported values: "array", "boolean", '
                '"integer", "number", "object", "string"',
                "s.properties[f].type: Forbidden: type cannot be set to null, use nullable as an alternative",
            ],
        ),
        (
            {**ROOT, "properties": {"metadata": {**ROOT, "description": "x"}}},
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ],
        ),
        (
            {**ROOT, "properties": {"kind": {"type": "string", "default": "X"}}},
            ["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
        ),
        (
            {**ROOT, "nullable": True},
            ["s.nullable: Forbidden: nullable cannot be true at the root"],
        ),
        (
            field({**ROOT, "properties": {"a": {"type": "string"}}, "default": {"a": "x", "b": 1}}),
            ['s.properties[f].default: Invalid value: {"a":"x","b":1}: must not have unknown fields'],
        ),
        (
            field({"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1"}]}),
            ["s.properties[f].default: Invalid value: 1: failed rule: self > 1"],
        ),
        (
            field({"type": "array", "items": {**ROOT, "nullable": True}, "x-kubernetes-list-type": "set"}),
            [
                "s.properties[f].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of "
                "a list with x-kubernetes-list-type=set",
                "s.properties[f].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type "
                "is set",
            ],
        ),
        (
            field({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}),
            [
                "s.properties[f].x-kubernetes-list-map-keys: Required value: must not be empty if "
                "x-kubernetes-list-type is map",
                's.properties[f].items.type: Invalid value: "string": must be object if parent array\'s '
                "x-kubernetes-list-type is map",
            ],
        ),
        (
            field({**ROOT, "x-kubernetes-map-type": "none", "x-kubernetes-preserve-unknown-fields": False}),
            [
                "s.properties[f].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or "
                "undefined",
                's.properties[f].x-kubernetes-map-type: Unsupported value: "none": supported values: '
                '"atomic", "granular"',
            ],
        ),
    ],
)
def test_invalid_schemas_are_refused(schema: dict[str, Any], expected: list[str]) -> None:
    assert errors(schema) == expected


def test_a_rule_must_be_an_expression() -> None:
    (found,) = errors(field({"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}))
    assert found == (
        's.properties[f].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self ==","Message":"",'
        '"MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
        "ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
        "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n"
        " | self ==\n | .......^"
    )


@pytest.mark.parametrize("rule", ["self.nothingLikeIt()", "nothingLikeIt > 1", "self.all(x, y > 1)"])
def test_a_rule_must_not_name_what_does_not_exist(rule: str) -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    (found,) = errors(field({**numbers, "x-kubernetes-validations": [{"rule": rule}]}))
    name = "y" if "y" in rule.split() else "nothingLikeIt"
    assert f": undeclared reference to '{name}' (in container '')\n | {rule}\n | " in found


def test_root_with_status_subresource_has_fewer_fields() -> None:
    schema = codec.convert({**ROOT, "maxProperties": 3}, JSONSchemaProps, "Ignore")[0]
    assert schema_errors(Path("s"), schema) == []
    (found,) = schema_errors(Path("s"), schema, status=True)
    assert str(found).startswith(
        's: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"obj'
    )
    assert '"MaxProperties":3,"MinProperties":null,"Required":null,' in str(found)
    assert str(found).endswith(
        ": only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
        "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs "
        "Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "
        "status subresource is enabled"
    )
