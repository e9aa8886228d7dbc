"""Variants of valid objects: each has one change, and no two have the same name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.manifests import valid_objects
from tools.recorded_requests.scenario.kinds import copied
from tools.recorded_requests.scenario.variants import added_fields, changed_fields

SCHEMAS: dict[str, dict[str, Any]] = {
    "Thing": {
        "type": "object",
        "properties": {
            "kind": {"type": "string"},
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "inner": {"allOf": [{"$ref": "#/components/schemas/Inner"}]},
            "list": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}},
        },
    },
    "Inner": {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}},
    },
}


def test_changed_fields_remove_and_replace_each_field() -> None:
    variants = dict(changed_fields({"kind": "Thing", "name": "x", "list": [{"a": "y"}]}))
    assert variants["without name"] == {"kind": "Thing", "list": [{"a": "y"}]}
    assert variants["without list.0.a"] == {"kind": "Thing", "name": "x", "list": [{}]}
    assert variants["list doubled"]["list"] == [{"a": "y"}, {"a": "y"}]
    assert not any(label.startswith(("kind", "without kind")) for label in variants)


def test_added_fields_are_those_of_the_schema_that_are_missing() -> None:
    variants = dict(added_fields({"name": "x", "list": [{"a": "y"}]}, SCHEMAS["Thing"], SCHEMAS))
    assert variants["with count plain"] == {"name": "x", "list": [{"a": "y"}], "count": 1}
    assert variants["with count bad"]["count"] == -1
    assert variants["with inner plain"]["inner"] == {"a": "x"}
    assert variants["with inner empty"]["inner"] == {}
    assert variants["with list.0.b plain"]["list"] == [{"a": "y", "b": True}]
    assert "with name plain" not in variants


@pytest.mark.parametrize("valid", valid_objects(), ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_changed_fields_differ_from_the_object_and_leave_it_alone(valid: dict[str, Any]) -> None:
    before = copied(valid)
    labels = []
    for label, body in changed_fields(before):
        labels.append(label)
        assert body != valid, label
    assert before == valid
    assert len(labels) == len(set(labels))
