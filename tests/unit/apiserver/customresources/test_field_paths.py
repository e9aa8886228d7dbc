"""Field paths of rules and selectable fields."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podling.apiserver.customresources.field_paths import resolved, resolved_schema
from podling.apiserver.customresources.structural import Schema

TEXT = {"type": "string"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMA = Schema(
    fields(
        foo=fields(**{"a.b": TEXT, "it's": TEXT, "x-y": TEXT, "bar": TEXT}),
        map={"type": "object", "additionalProperties": fields(bar=TEXT)},
        list={"type": "array", "items": fields(bar=TEXT)},
    )
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (".foo", "foo"),
        (".foo.bar", "foo.bar"),
        (".foo['bar']", "foo.bar"),
        ("['foo'].bar", "foo.bar"),
        (".foo.x-y", "foo.x-y"),
        (".foo['a.b']", "foo.a.b"),
        (".foo['it\\'s']", "foo.it's"),
        (".map.key", "map[key]"),
        (".map['a.b'].bar", "map[a.b].bar"),
    ],
)
def test_path_leads_to_a_field(text: str, path: str) -> None:
    assert str(resolved(text, SCHEMA)) == path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("foo", "expected [ or . but got: foo"),
        (".", "unexpected end of JSON path"),
        (".foo.", "unexpected end of JSON path"),
        (".foo[bar]", "expected single quoted string but got bar"),
        (".foo['bar", "expected single quoted string but got 'bar"),
        (".foo['bar'", "unexpected end of JSON path"),
        (".foo['bar'x", "expected ] but got x"),
        (".foo['\\q']", "invalid string literal: invalid escape char \\q"),
        (".nothing", "does not refer to a valid field"),
        (".foo.bar.more", "does not refer to a valid field"),
        (".list[0]", "expected single quoted string but got 0"),
        (".list.bar", "does not refer to a valid field"),
    ],
)
def test_path_that_leads_nowhere_is_an_error(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        resolved(text, SCHEMA)


def test_selectable_field_has_no_brackets() -> None:
    assert resolved_schema(".foo.bar", SCHEMA, brackets=False)[1].type == "string"
    with pytest.raises(ValueError, match="array notation is not allowed"):
        resolved_schema(".foo['bar']", SCHEMA, brackets=False)
