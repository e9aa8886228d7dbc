"""Checks of rules in definitions: types, transition rules, and estimated costs."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.openapi_validation import SchemaWalk
from podling.machinery.fields import FieldError, Path

INTEGER, STRING = {"type": "integer"}, {"type": "string"}
SHORT = {"type": "string", "maxLength": 10}
NUMBERS = {"type": "array", "items": INTEGER, "maxItems": 100}
SPEC = {
    "type": "object",
    "properties": {
        "count": INTEGER,
        "ratio": {"type": "number"},
        "name": SHORT,
        "on": {"type": "boolean"},
        "numbers": NUMBERS,
        "labels": {"type": "object", "additionalProperties": SHORT, "maxProperties": 10},
        "port": {"x-kubernetes-int-or-string": True},
        "since": {"type": "string", "format": "date-time"},
        "wait": {"type": "string", "format": "duration"},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "foo-bar": INTEGER,
        "inner": {"type": "object", "properties": {"deep": SHORT}},
    },
}


def schema_errors(plain: dict[str, Any]) -> list[FieldError]:
    walk = SchemaWalk(rules=True)
    return walk.errors(Path("s"), plain) + walk.total_errors(Path("s"))


def errors(rule: str, **more: Any) -> list[str]:
    plain = {**SPEC, "x-kubernetes-validations": [{"rule": rule, **more}]}
    return [str(each) for each in schema_errors(plain)]


@pytest.mark.parametrize(
    "rule",
    [
        "self.count > 3 && self.ratio < 2.5 || !self.on",
        "self.count < self.ratio",
        "has(self.name) && self.name.startsWith('a') ? self.count == 1 : true",
        "self.numbers.all(x, x > 0) && self.numbers.exists_one(x, x == 2)",
        "self.numbers.map(x, x * 2).filter(x, x > 2).sum() < 10",
        "self.labels.all(k, self.labels[k].size() > 0) && 'a' in self.labels",
        "self.port > 1 || self.port == 'http'",
        "self.since < timestamp('2026-01-01T00:00:00Z') && self.since.getFullYear() > 2000",
        "self.wait < duration('1h') && self.since + self.wait > self.since",
        "self.foo__dash__bar == 1",
        "self.?inner.?deep.orValue('x') == 'x'",
        "self.inner != null",
        "size(self.numbers) == self.numbers.size() && self.numbers[0] == self.numbers[?0].orValue(1)",
        "self.metadata.name.size() > 0 && self.kind == 'Widget'",
        "[1, 2].exists(x, x == self.count) && {'a': 1}['a'] == 1",
        "self.count % 2 == 0 && -self.count < 0 && string(self.count) == '1'",
        "self.inner == oldSelf.inner",
        "optional.of(1).optMap(x, x + 1).orValue(0) == 2",
        "duration('1h').getMinutes() == 60 && type(self.count) == int",
        "quantity('1Gi').isGreaterThan(quantity('1Mi')) && isIP('1.2.3.4') && ip('::1').isLoopback()",
        r"self.name.matches('^a\\d+$') && self.name.split('-')[0] == r'\d'",
        "true // a comment",
    ],
)
def test_well_typed_rules_are_accepted(rule: str) -> None:
    assert errors(rule) == []


@pytest.mark.parametrize(
    ("rule", "at", "text"),
    [
        ("self.nosuch == 1", 5, "undefined field 'nosuch'"),
        ("self.inner.nosuch == 1", 11, "undefined field 'nosuch'"),
        ("has(self.nosuch)", 4, "undefined field 'nosuch'"),
        ("self.any == 1", 5, "undefined field 'any'"),
        ("self.count > 'a'", 12, "found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.count == 'a'", 12, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.count == null", 12, "found no matching overload for '_==_' applied to '(int, null)'"),
        ("self.name && true", 11, "found no matching overload for '_&&_' applied to '(string, bool)'"),
        ("self.name + 1 == ''", 11, "found no matching overload for '_+_' applied to '(string, int)'"),
        (
            "self.count.startsWith('a')",
            22,
            "found no matching overload for 'startsWith' applied to 'int.(string)'",
        ),
        (
            "self.numbers['a'] == 1",
            13,
            "found no matching overload for '_[_]' applied to '(list(int), string)'",
        ),
        ("self.count.all(x, true)", 5, "expression of type 'int' cannot be range of a comprehension"),
        ("self.numbers.all(x, x + 1)", 23, "found no matching overload for '_&&_' applied to '(bool, int)'"),
        ("self.numbers.all(x, y > 1)", 21, "undeclared reference to 'y' (in container '')"),
        ("self.count.deep == 1", 11, "type 'int' does not support field selection"),
        ("self.name.nothing()", 18, "undeclared reference to 'nothing' (in container '')"),
        ("[1, 'a'].size() > 1", 5, "expected type 'int' but found 'string'"),
        (
            "self.count == 1 ? 'a' : 1",
            17,
            "found no matching overload for '_?_:_' applied to '(bool, string, int)'",
        ),
        ("if == 1", 1, "reserved identifier: if"),
        ("self.true == 1", 6, "Syntax error: mismatched input 'true' expecting IDENTIFIER"),
        ("timestamp(-62135596801) == self.since", 11, "invalid timestamp argument"),
    ],
)
def test_ill_typed_rules_are_refused(rule: str, at: int, text: str) -> None:
    found = errors(rule)
    shown = f"compilation failed: ERROR: <input>:1:{at}: {text}"
    assert len(found) == 1
    assert shown in found[0], found
    assert found[0].endswith(f"\n | {rule}\n | {'.' * (at - 1)}^"), found


def test_every_compilation_error_has_its_position() -> None:
    (found,) = errors("self.a == 1 &&\n  self.b", message="m")
    assert (
        "ERROR: <input>:1:5: undefined field 'a'\n | self.a == 1 &&\n | ....^\nERROR: <input>:2:7: " in found
    )


@pytest.mark.parametrize(
    ("rule", "more", "text"),
    [
        ("self.count", {}, "cel expression must evaluate to a bool"),
        ("true", {"messageExpression": "1"}, "messageExpression must evaluate to a string"),
        (
            "true",
            {"messageExpression": "self.nosuch"},
            "messageExpression compilation failed: ERROR: <input>:1:5:",
        ),
        (" ", {}, "s.x-kubernetes-validations[0].rule: Required value: rule is not specified"),
        ("true", {"message": " "}, "message must be non-empty if specified"),
        ("true", {"fieldPath": ".nosuch"}, 'Invalid value: ".nosuch": fieldPath must be a valid path'),
        ("true", {"fieldPath": ".numbers[0]"}, "fieldPath must be a valid path"),
        ("true", {"fieldPath": ".inner."}, "fieldPath must be a valid path"),
        ("true", {"fieldPath": "count"}, "fieldPath must be a valid path"),
        ("true", {"message": "a\nb"}, "message must not contain line breaks"),
        (
            "true &&\ntrue",
            {},
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            "true",
            {"reason": "Because"},
            'reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
    ],
)
def test_invalid_fields_of_a_rule_are_errors(rule: str, more: dict[str, str], text: str) -> None:
    (found,) = errors(rule, **more)
    assert text in found


@pytest.mark.parametrize("path", [".count", ".inner.deep", ".labels['a.b']", "['foo-bar']", ".labels.x"])
def test_paths_lead_to_fields(path: str) -> None:
    assert errors("true", fieldPath=path) == []


def listed(list_type: str) -> dict[str, Any]:
    rule = {"rule": "self.a == oldSelf.a"}
    item: dict[str, Any] = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}
    item["x-kubernetes-validations"] = [rule]
    kind: dict[str, Any] = {"x-kubernetes-list-type": list_type}
    kind |= {"x-kubernetes-list-map-keys": ["a"]} if list_type == "map" else {}
    return {"type": "object", "properties": {"l": {"type": "array", "items": item, **kind}}}


def test_items_without_keys_may_not_use_old_self() -> None:
    assert schema_errors(listed("map")) == []
    (found,) = schema_errors(listed("atomic"))
    assert str(found).endswith(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[l]"
    )


def test_optional_old_self_needs_a_rule_with_old_self() -> None:
    (found,) = errors("self.count > 1", optionalOldSelf=True)
    assert found == (
        "s.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is "
        "not used in rule"
    )


def test_rules_above_schema_errors_are_not_compiled() -> None:
    """Errors of the schema come first; its rules may be correct after they are fixed."""
    inner = {**STRING, "x-kubernetes-validations": [{"rule": "self == 1"}]}
    wrong = {"type": "array", "items": STRING, "uniqueItems": True}
    rule = {"x-kubernetes-validations": [{"rule": "self.nosuch"}]}
    found = schema_errors({"type": "object", "properties": {"a": inner, "b": wrong}, **rule})
    assert [each.field for each in found] == [
        "s.properties[b].uniqueItems",
        "s.properties[a].x-kubernetes-validations[0].rule",
    ]


def test_sizes_without_limits_are_bounded_by_the_size_of_a_request() -> None:
    """However deep lists are nested, the size of a request bounds the number of values."""
    number = {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 1"}]}
    lists = {"type": "array", "items": {"type": "array", "items": number}}
    assert schema_errors({"type": "object", "properties": {"l": lists}}) == []


@pytest.mark.parametrize(
    ("schema", "rule", "factor"),
    [
        pytest.param(
            {"type": "array", "items": INTEGER}, "self.all(x, x > 1)", None, id="each of many numbers"
        ),
        pytest.param(NUMBERS, "self.all(x, self.all(y, x != y))", None, id="pairs of a few"),
        pytest.param(
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": STRING, "n": INTEGER},
                },
            },
            "self.all(x, x.name == 'abc' || has(x.n) && x.n > 1 && x.n < 10 && x.n != 7)",
            None,
            id="required fields leave room for fewer",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER},
            "self.all(x, self.all(y, x != y))",
            "more than 100x",
            id="pairs of many",
        ),
        pytest.param(
            {"type": "array", "items": STRING},
            "self.all(x, x.contains('a'))",
            "more than 100x",
            id="long texts",
        ),
        pytest.param(
            {"type": "array", "maxItems": 100, "items": SHORT},
            "self.all(x, x.contains('a'))",
            None,
            id="short texts",
        ),
    ],
)
def test_estimated_cost_above_the_budget_is_forbidden(
    schema: dict[str, Any], rule: str, factor: str | None
) -> None:
    whole = {"type": "object", "properties": {"l": {**schema, "x-kubernetes-validations": [{"rule": rule}]}}}
    found = [str(each) for each in schema_errors(whole)]
    assert bool(found) == (factor is not None)
    if factor:
        assert found[0] == (
            "s.properties[l].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget "
            f"by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and "
            "maxLength where arrays, maps, and strings are declared)"
        )
