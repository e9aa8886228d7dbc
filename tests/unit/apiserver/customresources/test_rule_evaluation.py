"""Evaluation of CEL rules: variables, transition rules, ratcheting, and errors."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.customresources.rule_costs import TooCostly, cost_limited
from podling.apiserver.customresources.rule_evaluation import (
    COMPILING,
    SchemaRules,
)
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.encoding.plain import copied
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import Define, root_schema, widget

INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def rules(spec: dict[str, Any], *given: dict[str, Any]) -> SchemaRules:
    """Return the rules of objects whose ``spec`` has this schema and these rules."""
    node = {**spec, "x-kubernetes-validations": list(given)}
    return SchemaRules(root_schema({"type": "object", "properties": {"spec": node}}))


def found(checked: SchemaRules, spec: Any, *old: Any) -> list[str]:
    before = {"spec": old[0]} if old else None
    return [str(each) for each in checked.validate({"spec": spec}, before).errors]


LIMITS = {"type": "object", "properties": {"min": INTEGER, "max": INTEGER, "x-y": STRING, "for": STRING}}


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.min <= self.max", {"min": 1, "max": 2}, {"min": 3, "max": 2}),
        ("!has(self.min) || self.min > 0", {}, {"min": 0}),
        ("self.x__dash__y == 'a' && self.__for__ == 'b'", {"x-y": "a", "for": "b"}, {"x-y": "a", "for": "c"}),
        ("has(self.for) && self.for == 'b'", {"for": "b"}, {"for": "c"}),
    ],
)
def test_rules_see_the_fields_of_their_object(rule: str, good: Any, bad: Any) -> None:
    checked = rules(LIMITS, {"rule": rule})
    assert found(checked, good) == []
    assert found(checked, bad) == [f"spec: Invalid value: failed rule: {rule}"]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.startsWith('a')", "ab", "b"),
        ("self.matches('^[a-z]+$')", "abc", "ABC"),
        ("self.lowerAscii() == self", "abc", "aBc"),
        ("self.split(',').all(x, x.size() < 3)", "ab,c", "abc"),
        ("self.indexOf('b') == 1", "ab", "ba"),
        ("self.find('[0-9]+') == '12'", "a12", "a"),
        ("isURL(self) && url(self).getScheme() == 'https'", "https://a.example", "ftp://a.example"),
        ("isIP(self) && ip(self).family() == 4", "10.0.0.1", "::1"),
        ("cidr('10.0.0.0/8').containsIP(self)", "10.1.2.3", "11.0.0.1"),
        ("isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))", "2Gi", "500Mi"),
        ("duration(self) < duration('1h')", "30m", "2h"),
        ("self in ['a', 'b']", "a", "c"),
        ("self.contains('b') && sets.contains(['a', 'b'], self.split(''))", "ab", "abc"),
        ("'<%s:%d>'.format([self, 7]) == '<a:7>'", "a", "b"),
    ],
)
def test_rules_may_call_functions_of_strings(rule: str, good: str, bad: str) -> None:
    checked = rules(STRING, {"rule": rule, "message": "no"})
    assert found(checked, good) == []
    assert found(checked, bad) == [f'spec: Invalid value: "{bad}": no']


def test_rules_may_call_functions_of_lists() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(
        numbers, {"rule": "self.isSorted() && self.sum() < 10 && self.max() <= 5", "message": "no"}
    )
    assert found(checked, [1, 2, 3]) == []
    assert found(checked, [3, 2, 1]) == ["spec: Invalid value: no"]


SETS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "list": {"type": "array", "items": STRING},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": STRING, "v": INTEGER}},
        },
        "sets": {
            "type": "array",
            "items": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        },
        "since": {"type": "string", "format": "date-time"},
        "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "port": {"x-kubernetes-int-or-string": True},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nil": {**STRING, "nullable": True},
        "nils": {"type": "array", "items": {**STRING, "nullable": True}},
    },
}
SOME: dict[str, Any] = {
    "set": ["a", "b"],
    "list": ["a", "b"],
    "map": [{"k": "x", "v": 1}, {"k": "y", "v": 2}],
    "sets": [["a", "b"]],
    "since": "2026-01-01T00:00:00Z",
    "times": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
    "port": 80,
    "any": {"deep": {"x": 1}},
    "nil": None,
    "nils": [None, "a"],
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.set == ['b', 'a'] && self.set != ['a'] && self.set != ['a', 'c']",
        "self.list != ['b', 'a'] && self.list == ['a', 'b']",
        "['b', 'a'] != self.list && ['b', 'a'] != self.set",  # what is left decides
        "self.set + ['b', 'c'] == ['c', 'b', 'a'] && (self.set + ['b', 'c'])[2] == 'c'",
        "self.list + ['b'] == ['a', 'b', 'b']",
        "self.map == self.map.map(x, x.k == 'y', x) + self.map.map(x, x.k == 'x', x)",
        "(self.map + self.map).size() == 2 && (self.map + [self.map[1]])[1].v == 2",
        "self.map[0] in self.map && 'a' in self.set && self.sets[0] == ['b', 'a']",
        "['b', 'a'] in self.sets && self.sets == [['b', 'a']] && self == oldSelf",
        "self.since == timestamp('2026-01-01T01:00:00+01:00') && self.since < self.times[1]",
        "self.times == [timestamp('2026-01-01T00:00:00Z'), timestamp('2026-01-02T00:00:00Z')]",
        "self.times.max() == timestamp('2026-01-02T00:00:00Z') && self.times.isSorted()",
        "timestamp('2026-01-02T00:00:00Z') in self.times && self.times.all(t, t.getFullYear() == 2026)",
        "self.port == 80 && type(self.port) == int && self.port != '80' && self.port + 1 == 81",
        "self.any == oldSelf.any && has(self.any)",
        "!has(self.nil) && !self.?nil.hasValue()",
        "type(self.nils[0]) == null_type && type(self.nils[1]) == string && size(self.nils) == 2",
        "string(self.since) == '2026-01-01T00:00:00Z'",
    ],
)
def test_values_have_the_types_of_their_schema(rule: str) -> None:
    assert found(rules(SETS, {"rule": rule}), SOME, {**SOME, "set": ["b", "a"], "sets": [["b", "a"]]}) == []


def test_a_set_in_another_order_is_no_change_for_rules() -> None:
    checked = rules(SETS, {"rule": "self == oldSelf", "message": "changed"})
    new = {**SOME, "set": ["b", "a"], "map": SOME["map"][::-1], "since": "2026-01-01T01:00:00+01:00"}
    assert found(checked, new, SOME) == []
    assert found(checked, {**SOME, "list": ["b", "a"]}, SOME) == ["spec: Invalid value: changed"]


def test_old_self_in_a_string_makes_no_transition_rule() -> None:
    checked = rules(STRING, {"rule": "self != 'oldSelf'", "message": "no"})
    assert found(checked, "oldSelf") == ['spec: Invalid value: "oldSelf": no']


def test_transition_rules_are_evaluated_for_updates_only() -> None:
    checked = rules(INTEGER, {"rule": "self >= oldSelf", "message": "only up"})
    assert found(checked, 1) == []
    assert found(checked, 2, 1) == []
    assert found(checked, 1, 2) == ["spec: Invalid value: 1: only up"]


def test_optional_old_self_is_evaluated_for_creates_too() -> None:
    rule = {"rule": "oldSelf.hasValue() ? self > oldSelf.value() : self == 0", "optionalOldSelf": True}
    checked = rules(INTEGER, rule)
    assert found(checked, 0) == []
    assert len(found(checked, 1)) == 1
    assert found(checked, 2, 1) == []
    assert len(found(checked, 1, 1)) == 1, "the transition rule is evaluated although nothing changed"


def test_items_of_a_map_list_are_correlated_by_key() -> None:
    item = {
        "type": "object",
        "properties": {"name": STRING, "v": INTEGER},
        "x-kubernetes-validations": [{"rule": "self.v == oldSelf.v", "message": "fixed"}],
    }
    parts = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    checked = SchemaRules(root_schema({"type": "object", "properties": {"spec": parts}}))
    old = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert found(checked, [old[1], old[0], {"name": "c", "v": 3}], old) == []
    assert found(checked, [{"name": "b", "v": 9}], old) == ["spec[0]: Invalid value: fixed"]


def test_unchanged_values_may_violate_a_rule() -> None:
    checked = rules(STRING, {"rule": "self == 'good'", "message": "bad"})
    assert found(checked, "old", "old") == []
    assert found(checked, "new", "old") == ['spec: Invalid value: "new": bad']
    (kept,) = checked.validate({"spec": "old"}, {"spec": "old"}).kept
    assert str(kept) == 'spec: Invalid value: "old": bad'


@pytest.mark.parametrize(
    ("list_type", "old", "new", "expected"),
    [
        ("atomic", [1, 9], [1, 9], []),
        ("atomic", [1, 9], [9, 1], ["spec[0].v: Invalid value: 9: small"]),
        ("map", [1, 9], [9, 1], []),
        ("map", [1], [1, 9], ["spec[1].v: Invalid value: 9: small"]),
    ],
)
def test_items_without_identity_are_ratcheted_with_their_list(
    list_type: str, old: list[int], new: list[int], expected: list[str]
) -> None:
    rule = {"rule": "self < 5", "message": "small"}
    item = {
        "type": "object",
        "properties": {"n": INTEGER, "v": {**INTEGER, "x-kubernetes-validations": [rule]}},
    }
    parts = {"type": "array", "items": item, "x-kubernetes-list-type": list_type}
    parts["x-kubernetes-list-map-keys"] = ["n"] if list_type == "map" else []
    checked = SchemaRules(root_schema({"type": "object", "properties": {"spec": parts}}))
    before, after = ([{"n": each, "v": each} for each in values] for values in (old, new))
    assert found(checked, after, before) == expected


def test_values_of_an_atomic_map_are_correlated() -> None:
    value = {**INTEGER, "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "up"}]}
    node = {"type": "object", "properties": {"a": value}, "x-kubernetes-map-type": "atomic"}
    checked = SchemaRules(root_schema({"type": "object", "properties": {"spec": node}}))
    assert found(checked, {"a": 2}, {"a": 1}) == []
    assert found(checked, {"a": 1}, {"a": 2}) == ["spec.a: Invalid value: 1: up"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"messageExpression": "'at most ' + string(self.max)"}, "spec: Invalid value: at most 2"),
        ({"messageExpression": "self.nothing", "message": "else this"}, "spec: Invalid value: else this"),
        ({"fieldPath": ".min", "message": "m"}, "spec.min: Invalid value: m"),
        ({"reason": "FieldValueForbidden", "message": "m"}, "spec: Forbidden: m"),
        ({"reason": "FieldValueRequired", "message": "m"}, "spec: Required value: m"),
        ({"reason": "FieldValueDuplicate", "message": "m"}, "spec: Duplicate value"),
        ({"reason": "FieldValueInvalid", "message": "m"}, "spec: Invalid value: m"),
        ({"fieldPath": "['x-y']", "message": "m"}, "spec.x-y: Invalid value: m"),
        ({"messageExpression": "'a\\nb'", "message": "else this"}, "spec: Invalid value: else this"),
        ({"messageExpression": "''"}, "spec: Invalid value: failed rule: self.min <= self.max"),
        ({"messageExpression": f"'{'x' * 5121}'", "message": "short"}, "spec: Invalid value: short"),
    ],
)
def test_error_of_a_rule_has_message_reason_and_path(more: dict[str, str], text: str) -> None:
    checked = rules(LIMITS, {"rule": "self.min <= self.max", **more})
    assert found(checked, {"min": 3, "max": 2}) == [text]


@pytest.mark.parametrize(
    ("schema", "rule", "value", "text"),
    [
        (LIMITS, "self.min > 0", {}, '"object": no such key: min evaluating rule: self.min > 0'),
        (INTEGER, "1 / self == 1", 0, '"integer": division by zero evaluating rule: 1 / self == 1'),
        (
            {"x-kubernetes-int-or-string": True},
            "self > 1",
            "a",
            "\"\": 'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: self > 1",
        ),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_an_error_of_the_object(
    schema: dict[str, Any], rule: str, value: Any, text: str
) -> None:
    assert found(rules(schema, {"rule": rule}), value) == [f"spec: Invalid value: {text}"]


PAIRS = "self.all(x, self.all(y, x == y || x != y))"


def test_rule_above_the_cost_limit_is_cancelled() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(numbers, {"rule": PAIRS}, {"rule": "false", "message": "never evaluated"})
    assert found(checked, list(range(60))) == ["spec: Invalid value: never evaluated"]
    assert found(checked, list(range(2000))) == [
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
        f"validation rules will be run due to call cost exceeds limit for rule: {PAIRS}"
    ]


def test_rules_of_an_object_share_one_cost_budget() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(numbers, *({"rule": PAIRS} for _ in range(30)))
    assert found(checked, list(range(250))) == [
        'spec: Invalid value: "array": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]


def test_rules_above_the_limit_of_their_caller_are_left_to_others() -> None:
    checked = rules({"type": "array", "items": INTEGER}, {"rule": PAIRS})
    with cost_limited(20_000):
        assert found(checked, list(range(40))) == []
        with pytest.raises(TooCostly):
            found(checked, list(range(200)))
    assert found(checked, list(range(200))) == []


def test_compiling_of_many_rules_is_left_to_others() -> None:
    many = ({"rule": f"self > {-number}"} for number in range(100))
    checked = rules(INTEGER, *many)
    for _ in range(10):  # each time some more are compiled
        with pytest.raises(TooCostly), cost_limited(5 * COMPILING):
            found(checked, 1)
    with cost_limited(200 * COMPILING):
        assert found(checked, 1) == []


def test_type_of_the_object_is_never_ratcheted() -> None:
    kind = {**STRING, "x-kubernetes-validations": [{"rule": "self == 'Pod'"}]}
    checked = SchemaRules(
        root_schema(
            {
                "type": "object",
                "properties": {"kind": kind, "spec": {"type": "object", "properties": {"kind": kind}}},
            }
        )
    )
    wrong = {"kind": "Pot", "spec": {"kind": "Pot"}}
    asked = checked.validate(wrong, wrong)
    text = "Invalid value: \"Pot\": failed rule: self == 'Pod'"
    assert [str(each) for each in asked.errors] == [f"kind: {text}"]
    assert [str(each) for each in asked.kept] == [f"spec.kind: {text}"]


async def test_ratcheted_violation_is_a_warning(cluster: ControlPlane, define: Define) -> None:
    plain = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": INTEGER}}}}
    kind = await define(plain)
    made = await cluster.client.create(widget(kind, spec={"n": 9}))
    strict: dict[str, Any] = copied(plain)
    strict["properties"]["spec"]["properties"]["n"]["x-kubernetes-validations"] = [
        {"rule": "self < 5", "message": "small"}
    ]
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": strict}}]
    await cluster.client.patch(
        CustomResourceDefinition, "widgets.example.com", {"spec": {"versions": versions}}
    )
    await clock.sleep(1)
    options = WriteOptions()
    changed = structs.replace(made, metadata=structs.replace(made.metadata, labels={"a": "b"}))
    resource = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
    assert resource is not None
    await cluster.backend.update(Target(resource, "default", "w"), SYSTEM, changed, options)
    assert options.warnings == ["spec.n: Invalid value: 9: small"]
    with pytest.raises(ApiError, match=r"spec.n: Invalid value: 8: small"):
        await cluster.client.patch(kind, "w", {"spec": {"n": 8}}, "default")
