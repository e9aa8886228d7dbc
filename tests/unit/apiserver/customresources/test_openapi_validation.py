"""Validation of a schema's keywords, and of extensions for lists and maps."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.openapi_validation import SchemaWalk
from podling.machinery.fields import Path

ROOT: dict[str, Any] = {"type": "object"}


def errors(schema: dict[str, Any]) -> list[str]:
    return [str(each) for each in SchemaWalk(rules=False).errors(Path("s"), schema)]


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {**ROOT, "properties": {"f": schema}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
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
            {**ROOT, "properties": {"kind": {"type": "string", "default": "X"}}},
            ["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
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
def test_invalid_keyword_is_refused(schema: dict[str, Any], expected: list[str]) -> None:
    assert errors(schema) == expected


ITEM = {**ROOT, "required": ["a"], "properties": {"a": {"type": "string"}, "b": ROOT}}
KEYS = "s.properties[f].x-kubernetes-list-map-keys: Invalid value: "


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["a"], []),
        (["c"], [f'{KEYS}["c"]: entries must all be names of item properties']),
        (["a", "a"], [f'{KEYS}["a","a"]: must not contain duplicate entries']),
        (
            ["b"],
            [
                's.properties[f].items.properties[b].type: Invalid value: "object": must be a scalar type if '
                "parent array's x-kubernetes-list-type is map",
                "s.properties[f].items.properties[b].default: Required value: this property is in "
                "x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
    ],
)
def test_keys_of_a_map_list_are_scalar_fields_of_its_items(keys: list[str], expected: list[str]) -> None:
    assert (
        errors(
            field(
                {
                    "type": "array",
                    "items": ITEM,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": keys,
                }
            )
        )
        == expected
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "object", "x-kubernetes-list-type": "set"},
            's.properties[f].type: Invalid value: "object": must be array if '
            "x-kubernetes-list-type is specified",
        ),
        (
            {"x-kubernetes-map-type": "atomic"},
            "s.properties[f].type: Required value: must be object if x-kubernetes-map-type is specified",
        ),
        (
            {"type": "array", "items": ITEM, "x-kubernetes-list-map-keys": ["a"]},
            "s.properties[f].x-kubernetes-list-type: Required value: must be map if "
            "x-kubernetes-list-map-keys is non-empty",
        ),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": {}},
            "s.properties[f].additionalProperties: Forbidden: additionalProperties and properties are mutual "
            "exclusive",
        ),
    ],
)
def test_extension_needs_its_type(schema: dict[str, Any], expected: str) -> None:
    assert errors(field(schema)) == [expected]
