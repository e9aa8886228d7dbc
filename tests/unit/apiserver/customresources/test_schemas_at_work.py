"""What a schema keeps, fills in and refuses, each in a row: data in, data or words out."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources import value_validation
from podling.apiserver.customresources.completion import RootSchema
from podling.apiserver.customresources.structural import schema_of
from podling.machinery.errors import ApiError
from podling.machinery.formats import matches

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def spec(schema: dict[str, Any]) -> RootSchema:
    return RootSchema(schema_of({"type": "object", "properties": {"spec": schema}}))


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "given", "kept"),
    [
        pytest.param(fields(a=STRING), {"a": "x", "b": 1}, {"a": "x"}, id="unknown"),
        pytest.param(
            {**fields(a=fields(b=STRING)), **OPEN},
            {"a": {"b": "x", "c": 1}, "d": 2},
            {"a": {"b": "x"}, "d": 2},
            id="preserving above, not below",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": fields(a=STRING)},
            {"k": {"a": "x", "b": 1}},
            {"k": {"a": "x"}},
            id="map",
        ),
        pytest.param(
            fields(l={"type": "array", "items": fields(a=STRING)}),
            {"l": [{"a": "x", "b": 1}]},
            {"l": [{"a": "x"}]},
            id="list",
        ),
        pytest.param(
            fields(e={"type": "object", "x-kubernetes-embedded-resource": True, **fields(s=STRING)}),
            {"e": {"kind": "K", "metadata": {"name": "n", "x": 1}, "z": 1}},
            {"e": {"kind": "K", "metadata": {"name": "n"}}},
            id="embedded",
        ),
        pytest.param(
            {**OPEN, "type": "array", "items": fields(a=fields(b=STRING))},
            [{"a": {"b": "x", "c": 1}, "d": 1}],
            [{"a": {"b": "x"}, "d": 1}],
            id="items of a preserving list",
        ),
        pytest.param(
            fields(p={"x-kubernetes-int-or-string": True}), {"p": "80%"}, {"p": "80%"}, id="int or string"
        ),
    ],
)
def test_what_is_pruned(schema: dict[str, Any], given: Any, kept: Any) -> None:
    root = spec(schema)
    assert root.completed({"spec": given}) == {"spec": kept}
    assert bool(root.unknown_fields({"spec": given})) is (given != kept)


def test_unknown_fields_are_told_with_their_places() -> None:
    root = spec(fields(list={"type": "array", "items": fields(a=STRING)}))
    told = root.unknown_fields({"spec": {"list": [{"a": "x"}, {"b": 1}], "c": 1}, "other": 1})
    assert told == ["spec.list[1].b", "spec.c", "other"]
    inside = spec({"type": "object", "x-kubernetes-embedded-resource": True, **OPEN})
    assert inside.unknown_fields({"spec": {"metadata": {"x": 1}, "y": 1}}) == ["spec.metadata.x"]


@pytest.mark.parametrize(
    ("schema", "given", "kept"),
    [
        pytest.param(fields(a={**STRING, "default": "x"}), {}, {"a": "x"}, id="missing"),
        pytest.param(fields(a={**STRING, "default": "x"}), {"a": ""}, {"a": ""}, id="there"),
        pytest.param(fields(a={**STRING, "default": "x"}), {"a": None}, {"a": "x"}, id="null is missing"),
        pytest.param(
            fields(a={**STRING, "default": "x", "nullable": True}),
            {"a": None},
            {"a": None},
            id="null is allowed",
        ),
        pytest.param(fields(a=STRING), {"a": None}, {}, id="null without a default goes"),
        pytest.param(fields(a=OPEN), {"a": None}, {}, id="null of any type goes"),
        pytest.param(
            {"type": "object", "additionalProperties": {**STRING, "default": "x"}},
            {"a": None, "b": ""},
            {"a": "x", "b": ""},
            id="null in a map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING}, {"a": None}, {}, id="null in a map goes"
        ),
        pytest.param(
            fields(l={"type": "array", "items": {**STRING, "default": "x"}}),
            {"l": [None, ""]},
            {"l": ["x", ""]},
            id="null item",
        ),
        pytest.param(
            fields(l={"type": "array", "items": STRING}),
            {"l": [None]},
            {"l": [None]},
            id="null item without a default stays",
        ),
        pytest.param(
            fields(a={**fields(b={**INTEGER, "default": 1}), "default": {}}),
            {},
            {"a": {"b": 1}},
            id="defaults inside of defaults",
        ),
        pytest.param(
            fields(a=fields(b={**INTEGER, "default": 1})), {}, {}, id="nothing inside of what is not there"
        ),
        pytest.param(
            fields(l={"type": "array", "items": fields(b={**INTEGER, "default": 1})}),
            {"l": [{}, {"b": 2}]},
            {"l": [{"b": 1}, {"b": 2}]},
            id="items",
        ),
    ],
)
def test_what_is_filled_in(schema: dict[str, Any], given: Any, kept: Any) -> None:
    assert spec(schema).completed({"spec": given}) == {"spec": kept}


def test_defaults_are_not_shared() -> None:
    root = spec(fields(a={"type": "object", "default": {"x": [1]}, **OPEN}))
    first, second = root.completed({"spec": {}}), root.completed({"spec": {}})
    first["spec"]["a"]["x"].append(2)
    assert second == {"spec": {"a": {"x": [1]}}}


def test_defaults_are_bounded_by_the_size_of_a_stored_object() -> None:
    item = fields(**{f"f{number}": {**STRING, "default": "x" * 1000} for number in range(100)})
    root = spec({"type": "array", "items": item})
    assert len(root.completed({"spec": [{}] * 10})["spec"]) == 10
    with pytest.raises(ApiError, match="etcdserver: request is too large"):
        root.completed({"spec": [{}] * 100_000})  # took two minutes and 21 GB


def test_fields_without_defaults_cost_nothing() -> None:
    """A schema of many fields and a list of many items once multiplied."""
    root = spec({"type": "array", "items": fields(**{f"f{number}": STRING for number in range(10_000)})})
    given: dict[str, Any] = {"spec": [{}] * 100_000}
    assert root.completed(given) == given  # took minutes


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
def test_what_is_refused(schema: dict[str, Any], value: Any, text: str) -> None:
    assert [str(error) for error in value_validation.validate(value, schema, "s")] == [text]


def test_alternatives_name_the_one_that_came_nearest() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert [str(error) for error in value_validation.validate({}, schema, "s")] == [
        '<nil>: Invalid value: "": "s" must validate one and only one schema (oneOf). Found none valid',
        "s.a: Required value",
    ]
    both = value_validation.validate({"a": 1, "b": 1}, schema, "s")
    assert [error.detail for error in both] == [
        '"s" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]


def test_every_complaint_is_made() -> None:
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


def test_the_nearest_alternative_is_the_one_that_looks_at_most() -> None:
    deep = {"required": ["b", "c"], "properties": {"a": {"maximum": 1}}}
    schema = {"anyOf": [{"required": ["d"]}, deep]}
    assert [error.field for error in value_validation.validate({"a": 1}, schema, "s")] == [
        "<nil>",
        "s.b",
        "s.c",
    ]


def test_numbers_have_no_formats() -> None:
    assert value_validation.validate(2**40, {**INTEGER, "format": "int32"}) == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-01-02T03:04:05Z", "2026-01-02"),
        ("date", "2026-02-28", "2026-02-30"),
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.1"),
        ("uuid", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae"),
        ("duration", "1h30m", "soon"),
        ("byte", "aGk=", "%"),
        ("hostname", "a.example.com", "-a"),
        ("email", "a@b.c", "a"),
        ("k8s-short-name", "a-b", "a.b"),
        ("k8s-long-name", "a.b", "A"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77"),
        ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
        ("isbn", "0-306-40615-2", "0-306-40615-3"),
        ("isbn13", "978-0-306-40615-7", "978-0-306-40615-8"),
        ("ssn", "111-11-1111", "111-1"),
        ("rgbcolor", "rgb(1, 20, 255)", "rgb(1, 20, 256)"),
        ("password", "", None),
        ("nobody-knows-it", "anything", None),
    ],
)
def test_formats(name: str, good: str, bad: str | None) -> None:
    assert matches(name, good)
    assert bad is None or not matches(name, bad)


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
def test_what_did_not_change_may_stay_as_wrong_as_it_is(
    schema: dict[str, Any], old: Any, new: Any, places: list[str]
) -> None:
    assert [error.field for error in value_validation.validate(new, schema, old=old)] == places
