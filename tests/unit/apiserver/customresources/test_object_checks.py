"""Checks of custom objects beside their schema: lists, embedded objects, scales."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiextensions_v1 import CustomResourceSubresourceScale
from podling.apiserver.customresources.object_checks import embedded_errors, list_errors, scale_errors
from podling.apiserver.customresources.structural import Schema
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.fields import Path
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, definition, widget

OPEN = {"x-kubernetes-preserve-unknown-fields": True}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a", "b"],
    "items": {"type": "object", "properties": {"s": SET}},
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (SET, ["a", "b", "a", "a"], ['l[2]: Duplicate value: "a"']),
        (SET, [1, True, "1"], []),
        (MAP, [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "c": 3}], ['l[2]: Duplicate value: {"a":1}']),
        (MAP, [{}, 5], ["l[1]: Invalid value: 5: must be an object for an array of list-type map"]),
        (MAP, [{"s": ["x", "x"]}], ['l[0].s[1]: Duplicate value: "x"']),
        (
            {"type": "object", "additionalProperties": SET},
            {"k": ["x", "x"]},
            ['l[k][1]: Duplicate value: "x"'],
        ),
    ],
)
def test_duplicate_items_of_sets_and_maps_are_errors(
    schema: dict[str, Any], value: Any, expected: list[str]
) -> None:
    assert [str(each) for each in list_errors(value, Schema(schema), Path("l"))] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({}, ["e.apiVersion: Required value", "e.kind: Required value"]),
        (
            {"apiVersion": "a/b/c", "kind": ""},
            [
                'e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "e.kind: Required value",
            ],
        ),
        ({"apiVersion": 1, "kind": "K"}, ["e.apiVersion: Invalid value: 1: must be a string"]),
        (
            {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a/b", "namespace": "n"}},
            ["e.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
    ],
)
def test_embedded_objects_need_type_and_valid_metadata(value: Any, expected: list[str]) -> None:
    schema = Schema({"type": "object", "x-kubernetes-embedded-resource": True, **OPEN})
    assert [str(each) for each in embedded_errors(value, schema, Path("e"))] == expected


SCALE = CustomResourceSubresourceScale(
    spec_replicas_path=".spec.n", status_replicas_path=".status.n", label_selector_path=".status.s"
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"spec": {"n": 1}, "status": {"n": 0, "s": "a=b"}}, []),
        ({}, []),
        ({"spec": {"n": -1}}, [".spec.n: Invalid value: -1: should be a non-negative integer"]),
        (
            {"spec": {"n": 2**31}},
            [".spec.n: Invalid value: 2147483648: should be less than or equal to 2147483647"],
        ),
        (
            {"spec": {"n": "x"}, "status": "y"},
            [
                ".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64",
                ".status.n: Invalid value: 0: .status.n accessor error: y is of the type string, expected "
                "map[string]interface{}",
                '.status.s: Invalid value: "": .status.s accessor error: y is of the type string, expected '
                "map[string]interface{}",
            ],
        ),
    ],
)
def test_replica_fields_of_scales_must_be_numbers(content: dict[str, Any], expected: list[str]) -> None:
    assert [str(each) for each in scale_errors(content, SCALE, spec=True)] == expected


async def test_rules_are_not_evaluated_for_values_that_the_schema_refuses(
    cluster: ControlPlane, define: Define
) -> None:
    spec = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "maximum": 9}}}
    rule = {"x-kubernetes-validations": [{"rule": "!has(self.spec) || self.spec.a > 1"}]}
    kind = await define({"type": "object", "properties": {"spec": spec}, **rule})
    for given, expected in (
        (
            {},
            "[spec.a: Required value, <nil>: Invalid value: null: some validation rules were not checked "
            "because the object was invalid; correct the existing errors to complete validation]",
        ),
        (
            {"a": 10},
            "spec.a: Invalid value: 10: spec.a in body should be less than or equal to 9",
        ),
        ({"a": 1}, "<nil>: Invalid value: failed rule: !has(self.spec) || self.spec.a > 1"),
    ):
        with pytest.raises(ApiError) as refused:
            await cluster.client.create(widget(kind, spec=given))
        assert str(refused.value).endswith(f"is invalid: {expected}")


async def test_unrecognized_format_in_a_definition_is_a_warning(cluster: ControlPlane) -> None:
    fields = {"a": {"type": "string", "format": "isbn"}, "b": {"type": "string", "format": "shoe-size"}}
    asked = definition({"type": "object", "properties": fields})
    options = WriteOptions()
    await cluster.backend.create(Target(resource_of(type(asked))), SYSTEM, asked, options)
    assert options.warnings == ['unrecognized format "shoe-size"']
