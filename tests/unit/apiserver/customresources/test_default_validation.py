"""Validation of the defaults in a schema."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.default_validation import default_errors
from podling.apiserver.customresources.structural import Schema
from podling.machinery.fields import Path

ROOT: dict[str, Any] = {"type": "object"}


def errors(schema: dict[str, Any]) -> list[str]:
    return [str(each) for each in default_errors(Path("s"), Schema(schema))]


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {**ROOT, "properties": {"f": schema}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            field({"type": "integer", "default": "x"}),
            ['s.properties[f].default: Invalid value: "string":  in body must be of type integer: "string"'],
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
            field({"type": "array", "items": {"type": "string", "maxLength": 1, "default": "ab"}}),
            ["s.properties[f].items.default: Too long: may not be more than 1 bytes"],
        ),
        (
            field(field({"type": "boolean", "default": 1})),
            [
                's.properties[f].properties[f].default: Invalid value: "integer":  in body must be of type '
                'boolean: "integer"'
            ],
        ),
    ],
)
def test_default_must_be_valid_for_its_field(schema: dict[str, Any], expected: list[str]) -> None:
    assert errors(schema) == expected


def test_defaults_of_the_head_are_not_checked_at_the_root() -> None:
    wrong = {"type": "string", "default": 1}
    assert errors({**ROOT, "properties": {"kind": wrong, "metadata": wrong}}) == []
    assert len(errors(field({**ROOT, "properties": {"kind": wrong}}))) == 1
