"""Estimated costs of rules as Kubernetes counts them, with and without limits in the schema."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.programs import Program
from podling.apiserver.customresources.schema_types import schema_type
from podling.apiserver.customresources.structural import Schema

NUMBER, STRING, INT_OR_STRING = {"type": "number"}, {"type": "string"}, {"x-kubernetes-int-or-string": True}
OBJECT = {"type": "object", "required": ["required"], "properties": {"required": STRING, "optional": STRING}}


def limited(schema: dict[str, Any], name: str, most: int | None) -> dict[str, Any]:
    return schema if most is None else {**schema, name: most}


def listed(items: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return limited({"type": "array", "items": items}, "maxItems", most)


def mapped(values: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return limited({"type": "object", "additionalProperties": values}, "maxProperties", most)


def text(most: int | None = None) -> dict[str, Any]:
    return limited(STRING, "maxLength", most)


def formatted(name: str) -> dict[str, Any]:
    return {"type": "string", "format": name}


TEXTS = {
    "type": "object",
    "properties": {"text": text(4), "old": text(2), "new": text(4)},
}


@pytest.mark.parametrize(
    ("schema", "rule", "cost"),
    [
        (listed(NUMBER), "self.all(x, true)", 4718591),
        (listed(NUMBER, 10), "self.all(x, true)", 32),
        (listed(NUMBER, 10), "self.all(x, self.all(y, self.all(z, true)))", 3552),
        (listed({"type": "boolean"}), "self.all(x, true)", 1887437),
        (listed(listed(NUMBER), 100), "self.all(x, true)", 302),
        (listed(OBJECT), "self.all(x, true)", 555128),
        (listed(formatted("duration")), "self.all(x, true)", 2359295),
        (listed(formatted("date")), "self.all(x, true)", 725936),
        (listed(formatted("date-time")), "self.all(x, true)", 428963),
        (mapped(STRING), "self.all(x, true)", 1179647),
        (mapped(OBJECT), "self.all(x, true)", 428963),
        (mapped(text(10), 10), "self.all(x, x.contains(self[x]))", 72),  # names cost nothing
        (mapped(NUMBER, 12), "self.all(k, self.x == 25.2)", 74),
        (text(), "self.contains('test')", 314574),
        (text(10), "self.contains('test')", 5),
        (text(30), "self.endsWith('test')", 2),
        (text(4), "size(self + 'hello') > size('hello')", 7),
        (text(50), "self.matches('x')", 22),
        (text(), "self.matches('')", 1),
        (text(10), "self.find('[0-9]+') == ''", 11),
        (text(10), "self.lowerAscii() == 'lower!'", 6),
        (text(0), "self == 'x'", 1),
        ({**STRING, "enum": ["A", "LongValue"]}, "self.contains('A')", 2),
        ({**STRING, "enum": ["A"], "maxLength": 1000}, "self.contains('A')", 401),
        (listed(STRING, 8), "self[1] == self[1]", 314577),
        (listed(NUMBER, 8), "self[1] == 0.0", 2),
        (listed(INT_OR_STRING, 8), "self[0] == 5", 3),
        (listed(OBJECT), "self[0] == null", 2),
        (listed(formatted("duration"), 8), "self[0].getHours() == 2", 4),
        (mapped(formatted("date-time")), "self['a'] == self['b']", 8),
        (listed(text(10), 10), "self.join(' ') == 'aa bb'", 43),
        (listed(text(10), 10), "self.isSorted() == true", 52),
        (TEXTS, "self.text.replace(self.old, self.new) == 'does not matter'", 12),
        (TEXTS, "self.text.split(self.old) == []", 18),
        (listed(mapped(OBJECT, 10), 10), "self.all(x, x['y'].required == 'z')", 72),
        (listed(NUMBER, 10), "self.exists(x, true)", 42),
        (listed(NUMBER, 10), "self.exists_one(x, true)", 23),
        (listed(NUMBER, 10), "self.filter(x, true).size() == 10", 144),
        (listed(NUMBER, 10), "self.map(x, 1).size() == 10", 134),
    ],
)
def test_estimated_cost_of_a_rule(schema: dict[str, Any], rule: str, cost: int) -> None:
    own = schema_type(Schema(schema))
    assert own is not None
    assert Program(rule, {"self": own}).cost == cost
