"""Completion of custom objects: pruning, unknown fields, and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.completion import RootSchema
from podling.machinery.errors import ApiError
from tests.support.custom_resources import root_schema

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def spec(schema: dict[str, Any]) -> RootSchema:
    return root_schema({"type": "object", "properties": {"spec": schema}})


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
def test_unknown_fields_are_pruned(schema: dict[str, Any], given: Any, kept: Any) -> None:
    root = spec(schema)
    assert root.completed({"spec": given}) == {"spec": kept}
    assert bool(root.unknown_fields({"spec": given})) is (given != kept)


def test_unknown_fields_are_listed_with_their_paths() -> None:
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
def test_defaults_are_filled_in(schema: dict[str, Any], given: Any, kept: Any) -> None:
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
