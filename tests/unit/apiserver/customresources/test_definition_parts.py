"""Validation of columns, scale subresources and selectable fields."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceSubresources,
    CustomResourceSubresourceScale,
    SelectableField,
)
from podling.apiserver.customresources.definition_parts import (
    column_errors,
    selectable_errors,
    subresource_errors,
)
from podling.apiserver.customresources.structural import Schema
from podling.machinery.fields import Path

TYPES = "must be one of boolean,date,integer,number,string"
FORMATS = "must be one of byte,date,date-time,double,float,int32,int64,password"
SIMPLE = "must be a simple json path starting with ."


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"name": "A", "type": "string", "json_path": ".a"}, []),
        ({"name": "A", "type": "integer", "format": "int32", "json_path": ".a"}, []),
        ({"name": "", "type": "date", "json_path": ".a"}, ["c[0].name: Required value"]),
        ({"name": "A", "type": "", "json_path": ".a"}, [f"c[0].type: Required value: {TYPES}"]),
        ({"name": "A", "type": "array", "json_path": ".a"}, [f'c[0].type: Invalid value: "array": {TYPES}']),
        (
            {"name": "A", "type": "string", "format": "ip", "json_path": ".a"},
            [f'c[0].format: Invalid value: "ip": {FORMATS}'],
        ),
        ({"name": "A", "type": "string", "json_path": ""}, ["c[0].JSONPath: Required value"]),
        (
            {"name": "A", "type": "string", "json_path": "a"},
            [f'c[0].JSONPath: Invalid value: "a": {SIMPLE}'],
        ),
    ],
)
def test_column_needs_name_type_and_path(column: dict[str, Any], expected: list[str]) -> None:
    found = column_errors(Path("c"), [CustomResourceColumnDefinition(**column)])
    assert [str(each) for each in found] == expected


@pytest.mark.parametrize(
    ("spec", "status", "selector", "expected"),
    [
        (".spec.replicas", ".status.replicas", None, []),
        (".spec.replicas", ".status.replicas", ".status.selector", []),
        (".spec.replicas", ".status.replicas", ".spec.selector", []),
        (
            "",
            "",
            None,
            [
                "s.scale.specReplicasPath: Required value",
                "s.scale.statusReplicasPath: Required value",
            ],
        ),
        (
            "spec.replicas",
            ".status.replicas",
            None,
            [f's.scale.specReplicasPath: Invalid value: "spec.replicas": {SIMPLE}'],
        ),
        (
            ".status.replicas",
            ".spec.replicas",
            ".metadata.labels",
            [
                's.scale.specReplicasPath: Invalid value: ".status.replicas": should be a json '
                "path under .spec",
                's.scale.statusReplicasPath: Invalid value: ".spec.replicas": should be a json path under '
                ".status",
                's.scale.labelSelectorPath: Invalid value: ".metadata.labels": should be a json path under '
                "either .spec or .status",
            ],
        ),
        (
            ".spec",
            ".status.replicas",
            None,
            ['s.scale.specReplicasPath: Invalid value: ".spec": should be a json path under .spec'],
        ),
    ],
)
def test_scale_paths_lie_in_their_part(
    spec: str, status: str, selector: str | None, expected: list[str]
) -> None:
    scale = CustomResourceSubresourceScale(
        spec_replicas_path=spec, status_replicas_path=status, label_selector_path=selector
    )
    found = subresource_errors(Path("s"), CustomResourceSubresources(scale=scale))
    assert [str(each) for each in found] == expected


SCHEMA = Schema(
    {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {
                "type": "object",
                "properties": {
                    **{f"f{number}": {"type": "string"} for number in range(10)},
                    "on": {"type": "boolean"},
                    "share": {"type": "number"},
                },
            },
        },
    }
)
SCALAR = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings "
    "with formats are "
    "allowed."
)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([".spec.f0", ".spec.on"], []),
        ([""], ["s[0].jsonPath: Required value"]),
        ([".spec"], [f's[0].jsonPath: Invalid value: ".spec": {SCALAR}']),
        ([".spec.share"], [f's[0].jsonPath: Invalid value: ".spec.share": {SCALAR}']),
        (
            [".metadata.name"],
            ['s[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata'],
        ),
        (
            [".spec['f0']"],
            [
                "s[0].jsonPath: Invalid value: \".spec['f0']\": is an invalid path: array "
                "notation is not allowed"
            ],
        ),
        (
            [".spec.none"],
            [
                's[0].jsonPath: Invalid value: ".spec.none": is an invalid path: does not '
                "refer to a valid field"
            ],
        ),
        ([".spec.f0", ".spec.f0"], ['s[1].jsonPath: Duplicate value: ".spec.f0"']),
        ([f".spec.f{number}" for number in range(8)], []),
        ([f".spec.f{number}" for number in range(9)], ["s: Too many: 9: must have at most 8 items"]),
    ],
)
def test_selectable_field_is_a_scalar_outside_of_metadata(paths: list[str], expected: list[str]) -> None:
    found = selectable_errors(Path("s"), [SelectableField(json_path=each) for each in paths], SCHEMA)
    assert [str(each) for each in found] == expected
