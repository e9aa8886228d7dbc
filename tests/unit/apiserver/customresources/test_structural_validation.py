"""Structural schemas: every type is stated once, outside of logical operators."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.structural_validation import structural_errors, unsupported
from podling.machinery.fields import Path

ROOT: dict[str, Any] = {"type": "object"}


def errors(schema: dict[str, Any]) -> list[str]:
    return [str(each) for each in structural_errors(Path("s"), schema)]


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
            {**ROOT, "properties": {"metadata": {**ROOT, "description": "x"}}},
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ],
        ),
    ],
)
def test_schema_that_is_not_structural_is_refused(schema: dict[str, Any], expected: list[str]) -> None:
    assert errors(schema) == expected


INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]


@pytest.mark.parametrize(
    ("more", "valid"),
    [
        ({"anyOf": INTEGER_OR_STRING}, True),
        ({"allOf": [{"anyOf": INTEGER_OR_STRING}]}, True),
        ({"allOf": [{"minimum": 1}, {"anyOf": INTEGER_OR_STRING}]}, False),
        ({"anyOf": INTEGER_OR_STRING[::-1]}, False),
        ({"oneOf": INTEGER_OR_STRING}, False),
    ],
)
def test_integer_or_string_may_name_its_types_in_one_place(more: dict[str, Any], valid: bool) -> None:
    assert (errors(field({"x-kubernetes-int-or-string": True, **more})) == []) is valid


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (field({"type": "string"}), ""),
        (field({"items": [{}]}), "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        (field({"not": {"id": "x"}}), "OpenAPIV3Schema 'id' is not supported"),
        ({"anyOf": [{}, {"definitions": {"a": {}}}]}, "OpenAPIV3Schema 'definitions' is not supported"),
        (
            {"additionalProperties": {"x-kubernetes-preserve-unknown-fields": False}},
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
    ],
)
def test_unsupported_keyword_is_found_anywhere(schema: dict[str, Any], why: str) -> None:
    assert unsupported(schema) == why
