"""CEL types of the values that a schema describes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.programs import NotCompiled, Program
from podling.apiserver.cel.types import Type
from podling.apiserver.customresources.schema_types import escaped, schema_type
from podling.apiserver.customresources.structural import Schema


def test_objects_are_called_by_their_place() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    own = schema_type(
        Schema(
            {
                "type": "object",
                "properties": {"a": inner, "b": inner, "l": {"type": "array", "items": inner}},
            }
        ),
        label="selfType7",
    )
    assert isinstance(own, Type)
    for text, why in (
        ("self.a == self.b", "(selfType7.a, selfType7.b)"),
        ("self == 1", "(selfType7, int)"),
        ("self.l == 1", "(list(selfType7.l.@idx), int)"),
    ):
        with pytest.raises(NotCompiled, match="found no matching overload for '_==_' applied to") as refused:
            Program(text, {"self": own})
        assert why in str(refused.value)
    Program("self.a != null && self.l[0] == self.l[1]", {"self": own})


@pytest.mark.parametrize(
    ("schema", "shown", "largest"),
    [
        ({"type": "string"}, "string", None),
        ({"type": "string", "maxLength": 10}, "string", 40),
        ({"type": "string", "enum": ["a", "abc"]}, "string", 3),
        ({"type": "string", "format": "byte", "maxLength": 10}, "bytes", 10),
        ({"type": "string", "format": "date"}, "timestamp", 12),
        ({"type": "string", "format": "date-time"}, "timestamp", 32),
        ({"type": "string", "format": "duration"}, "duration", 32),
        ({"type": "number"}, "double", 0),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 5}, "list(int)", 5),
        (
            {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 3},
            "map(string, bool)",
            3,
        ),
        ({"x-kubernetes-int-or-string": True}, "dyn", None),
    ],
)
def test_schema_gives_type_and_largest_size(schema: dict[str, Any], shown: str, largest: int | None) -> None:
    found = schema_type(Schema(schema))
    assert found is not None
    assert (str(found), found.largest) == (shown, largest)


@pytest.mark.parametrize(
    "schema",
    [{"x-kubernetes-preserve-unknown-fields": True}, {"type": "array"}, {"type": "array", "items": {}}],
)
def test_untyped_values_cannot_be_read_by_rules(schema: dict[str, Any]) -> None:
    assert schema_type(Schema(schema)) is None


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("replicas", "replicas"),
        ("namespace", "__namespace__"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("1a", None),
        ("a b", None),
        ("$a", None),
    ],
)
def test_field_name_is_escaped(name: str, spelled: str | None) -> None:
    assert escaped(name) == spelled
