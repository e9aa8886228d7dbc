"""Validation of values against a schema: data in, errors out."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources import value_validation

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


WRONG: list[tuple[dict[str, Any], Any, str]] = [
    (INTEGER, "x", 's: Invalid value: "string": s in body must be of type integer: "string"'),
    (INTEGER, 1.5, 's: Invalid value: "number": s in body must be of type integer: "number"'),
    (STRING, None, 's: Invalid value: "null": s in body must be of type string: "null"'),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        's: Invalid value: "boolean": s in body must be of type integer,string: "boolean"',
    ),
    ({**STRING, "maxLength": 2}, "abc", "s: Too long: may not be more than 2 bytes"),
    ({**STRING, "minLength": 2}, "a", 's: Invalid value: "a": s in body should be at least 2 chars long'),
    ({**STRING, "pattern": "^a$"}, "b", "s: Invalid value: \"b\": s in body should match '^a$'"),
    ({**STRING, "enum": ["a", "b"]}, "c", 's: Unsupported value: "c": supported values: "a", "b"'),
    (
        {**STRING, "format": "date-time"},
        "now",
        's: Invalid value: "now": s in body must be of type date-time: "now"',
    ),
    ({**INTEGER, "maximum": 3}, 4, "s: Invalid value: 4: s in body should be less than or equal to 3"),
    (
        {**INTEGER, "minimum": 3, "exclusiveMinimum": True},
        3,
        "s: Invalid value: 3: s in body should be greater than 3",
    ),
    ({**INTEGER, "multipleOf": 5}, 7, "s: Invalid value: 7: s in body should be a multiple of 5"),
    (
        {"type": "array", "items": STRING, "maxItems": 1},
        ["a", "b"],
        "s: Too many: 2: must have at most 1 item",
    ),
    (
        {"type": "array", "items": STRING, "minItems": 1},
        [],
        "s: Invalid value: 0: s in body should have at least 1 items",
    ),
    (
        {"type": "array", "items": STRING},
        [1],
        's[0]: Invalid value: "integer": s[0] in body must be of type string: "integer"',
    ),
    (
        {"type": "object", "minProperties": 2, "required": ["a"]},
        {},
        "s: Invalid value: 0: s in body should have at least 2 properties",
    ),
    (
        {"type": "object", "additionalProperties": False},
        {"k": 1},
        's: Invalid value: "k": s.k in body is a forbidden property',
    ),
    ({**fields(a=STRING), "required": ["a"]}, {}, "s.a: Required value"),
    (
        {"type": "object", "additionalProperties": INTEGER},
        {"k": "v"},
        's.k: Invalid value: "string": s.k in body must be of type integer: "string"',
    ),
    (
        {"not": {"required": ["a"]}},
        {"a": 1},
        '<nil>: Invalid value: "": "s" must not validate the schema (not)',
    ),
]


@pytest.mark.parametrize(("schema", "value", "text"), WRONG, ids=[row[2] for row in WRONG])
def test_invalid_values_are_refused(schema: dict[str, Any], value: Any, text: str) -> None:
    assert [str(error) for error in value_validation.validate(value, schema, "s")] == [text]


def test_one_of_reports_the_errors_of_the_nearest_alternative() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert [str(error) for error in value_validation.validate({}, schema, "s")] == [
        '<nil>: Invalid value: "": "s" must validate one and only one schema (oneOf). Found none valid',
        "s.a: Required value",
    ]
    both = value_validation.validate({"a": 1, "b": 1}, schema, "s")
    assert [error.detail for error in both] == [
        '"s" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]


def test_every_violation_is_reported() -> None:
    schema = {**STRING, "enum": ["a"], "allOf": [{"maxLength": 3}, {"pattern": "^b"}]}
    assert [str(error) for error in value_validation.validate(5, schema, "s")] == [
        's: Invalid value: "integer": s in body must be of type string: "integer"',
        's: Unsupported value: 5: supported values: "a"',
    ]
    assert [str(error) for error in value_validation.validate("abcd", schema, "s")] == [
        "s: Too long: may not be more than 3 bytes",
        "s: Invalid value: \"abcd\": s in body should match '^b'",
        '<nil>: Invalid value: "": "s" must validate all the schemas (allOf). None validated',
        's: Unsupported value: "abcd": supported values: "a"',
    ]


def test_errors_are_those_of_the_best_matching_alternative() -> None:
    deep = {"required": ["b", "c"], "properties": {"a": {"maximum": 1}}}
    schema = {"anyOf": [{"required": ["d"]}, deep]}
    assert [error.field for error in value_validation.validate({"a": 1}, schema, "s")] == [
        "<nil>",
        "s.b",
        "s.c",
    ]


def test_numbers_have_no_formats() -> None:
    assert value_validation.validate(2**40, {**INTEGER, "format": "int32"}) == []


NAMED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["a"], "properties": {"b": {"type": "string", "maxLength": 1}}},
}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 1}}


@pytest.mark.parametrize(
    ("schema", "old", "new", "places"),
    [
        pytest.param(
            fields(a={"type": "string", "maxLength": 1}, b={"type": "string"}),
            {"a": "long", "b": "x"},
            {"a": "long", "b": "y"},
            [],
            id="a field that stays as it was",
        ),
        pytest.param(
            fields(a={"type": "string", "maxLength": 1}),
            {"a": "long"},
            {"a": "longer"},
            ["a"],
            id="a field that is wrong in another way",
        ),
        pytest.param(
            {**fields(b={"type": "string"}), "required": ["a"]},
            {"b": "x"},
            {"b": "y"},
            ["a"],
            id="what is missing is asked for when anything beside it changes",
        ),
        pytest.param(
            NAMED,
            [{"name": "x", "b": "long"}, {"name": "y"}],
            [{"name": "z", "a": 1, "b": "long"}, {"name": "x", "b": "long"}],
            ["[0].b"],
            id="items of a map are known by their keys, wherever they are",
        ),
        pytest.param(SET, ["long"], ["long", "x"], ["[0]"], id="items of a set are nobody's former selves"),
    ],
)
def test_unchanged_invalid_values_are_accepted(
    schema: dict[str, Any], old: Any, new: Any, places: list[str]
) -> None:
    assert [error.field for error in value_validation.validate(new, schema, old=old)] == places
