"""The tree of a structural schema: defaults, and its shape for server-side apply."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.structural import Schema
from podling.machinery.encoding.shapes import Kind

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("plain", "kind"),
    [
        ({"type": "string"}, Kind.STRING),
        ({"type": "string", "format": "byte"}, Kind.STRING),
        ({"type": "string", "format": "date-time"}, Kind.QUANTITY),
        ({"type": "integer"}, Kind.INTEGER),
        ({"type": "number"}, Kind.NUMBER),
        ({"type": "boolean"}, Kind.BOOLEAN),
        ({"type": "string", "x-kubernetes-int-or-string": True}, Kind.ANY),
        ({"type": "array"}, Kind.ANY),
        ({"type": "array", "items": TEXT}, Kind.LIST),
        ({"type": "object", "additionalProperties": TEXT}, Kind.MAP),
        ({"type": "object", "additionalProperties": True}, Kind.MAP),
        ({"x-kubernetes-preserve-unknown-fields": True}, Kind.MAP),
        ({"type": "object", "additionalProperties": TEXT, "properties": {"a": TEXT}}, Kind.STRUCT),
        ({"type": "object"}, Kind.STRUCT),
    ],
)
def test_node_has_a_kind_for_server_side_apply(plain: dict[str, Any], kind: Kind) -> None:
    assert Schema(plain).shape.kind is kind


@pytest.mark.parametrize(
    ("more", "keys", "is_set"),
    [
        ({}, (), False),
        ({"x-kubernetes-list-type": "atomic"}, (), False),
        ({"x-kubernetes-list-type": "set"}, (), True),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}, ("a", "b"), False),
        ({"x-kubernetes-list-map-keys": ["a"]}, (), False),
    ],
)
def test_list_type_decides_how_lists_are_merged(
    more: dict[str, Any], keys: tuple[str, ...], is_set: bool
) -> None:
    shape = Schema({"type": "array", "items": TEXT, **more}).shape
    assert (shape.map_keys, shape.is_set) == (keys, is_set)


@pytest.mark.parametrize(
    "plain", [{"additionalProperties": TEXT}, {"properties": {"a": TEXT}}, {"additionalProperties": True}]
)
def test_atomic_object_is_merged_as_one_value(plain: dict[str, Any]) -> None:
    assert not Schema({"type": "object", **plain}).shape.atomic
    assert Schema({"type": "object", "x-kubernetes-map-type": "atomic", **plain}).shape.atomic


def test_embedded_object_has_type_and_metadata() -> None:
    plain = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": TEXT}}
    shape = Schema(plain).shape
    assert set(shape.fields or ()) == {"apiVersion", "kind", "metadata", "spec"}
    assert shape.rest is None
    assert Schema({**plain, "x-kubernetes-preserve-unknown-fields": True}).shape.rest is not None


def test_defaults_are_those_of_direct_fields() -> None:
    schema = Schema(
        {
            "type": "object",
            "properties": {
                "a": {**TEXT, "default": "ä"},
                "b": {"type": "object", "properties": {"c": {**TEXT, "default": "x"}}},
                "d": {"type": "boolean", "default": False, "nullable": True},
                "e": {**TEXT, "default": None},
            },
        }
    )
    assert [(name, each.value, each.size, each.nullable) for name, each in schema.defaults] == [
        ("a", "ä", 4, False),
        ("d", False, 5, True),
    ]


def test_part_of_a_map_is_the_schema_of_its_values() -> None:
    schema = Schema({"type": "object", "additionalProperties": TEXT})
    part = schema.part("any")
    assert part is not None
    assert part.type == "string"
    assert Schema({"type": "object", "properties": {"a": TEXT}}).part("b") is None
