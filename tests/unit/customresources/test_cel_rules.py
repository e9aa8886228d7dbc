"""Rules in CEL: what they see, when they are asked, and what they answer when they do not hold."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.schema_rules import SchemaRules
from podling.apiserver.customresources.structural import schema_of

INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def rules(spec: dict[str, Any], *given: dict[str, Any]) -> SchemaRules:
    """The rules of objects whose ``spec`` has this schema and these rules."""
    node = {**spec, "x-kubernetes-validations": list(given)}
    return SchemaRules(schema_of({"type": "object", "properties": {"spec": node}}))


def found(checked: SchemaRules, spec: Any, *old: Any) -> list[str]:
    before = {"spec": old[0]} if old else None
    return [str(each) for each in checked.validate({"spec": spec}, before)]


LIMITS = {"type": "object", "properties": {"min": INTEGER, "max": INTEGER, "x-y": STRING, "for": STRING}}


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.min <= self.max", {"min": 1, "max": 2}, {"min": 3, "max": 2}),
        ("!has(self.min) || self.min > 0", {}, {"min": 0}),
        ("self.x__dash__y == 'a' && self.__for__ == 'b'", {"x-y": "a", "for": "b"}, {"x-y": "a", "for": "c"}),
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
def test_functions(rule: str, good: str, bad: str) -> None:
    checked = rules(STRING, {"rule": rule, "message": "no"})
    assert found(checked, good) == []
    assert found(checked, bad) == [f'spec: Invalid value: "{bad}": no']


def test_lists() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(
        numbers, {"rule": "self.isSorted() && self.sum() < 10 && self.max() <= 5", "message": "no"}
    )
    assert found(checked, [1, 2, 3]) == []
    assert found(checked, [3, 2, 1]) == ["spec: Invalid value: no"]


def test_rules_about_changes_are_asked_of_changes_alone() -> None:
    checked = rules(INTEGER, {"rule": "self >= oldSelf", "message": "only up"})
    assert found(checked, 1) == []
    assert found(checked, 2, 1) == []
    assert found(checked, 1, 2) == ["spec: Invalid value: 1: only up"]


def test_unless_they_ask_for_an_optional() -> None:
    rule = {"rule": "oldSelf.hasValue() ? self > oldSelf.value() : self == 0", "optionalOldSelf": True}
    checked = rules(INTEGER, rule)
    assert found(checked, 0) == []
    assert len(found(checked, 1)) == 1
    assert found(checked, 2, 1) == []
    assert len(found(checked, 1, 1)) == 1, "a rule about a change is asked even if nothing changed"


def test_items_of_a_map_are_compared_with_their_former_selves() -> None:
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
    checked = SchemaRules(schema_of({"type": "object", "properties": {"spec": parts}}))
    old = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert found(checked, [old[1], old[0], {"name": "c", "v": 3}], old) == []
    assert found(checked, [{"name": "b", "v": 9}], old) == ["spec[0]: Invalid value: fixed"]


def test_what_does_not_change_may_stay_wrong() -> None:
    checked = rules(STRING, {"rule": "self == 'good'", "message": "bad"})
    assert found(checked, "old", "old") == []
    assert found(checked, "new", "old") == ['spec: Invalid value: "new": bad']


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"messageExpression": "'at most ' + string(self.max)"}, "spec: Invalid value: at most 2"),
        ({"messageExpression": "self.nothing", "message": "else this"}, "spec: Invalid value: else this"),
        ({"fieldPath": ".min", "message": "m"}, "spec.min: Invalid value: m"),
        ({"reason": "FieldValueForbidden", "message": "m"}, "spec: Forbidden: m"),
        ({"reason": "FieldValueRequired", "message": "m"}, "spec: Required value: m"),
    ],
)
def test_how_a_rule_says_no(more: dict[str, str], text: str) -> None:
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
            "\"object\": 'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: self > 1",
        ),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_an_error_of_the_object(
    schema: dict[str, Any], rule: str, value: Any, text: str
) -> None:
    assert found(rules(schema, {"rule": rule}), value) == [f"spec: Invalid value: {text}"]


PAIRS = "self.all(x, self.all(y, x == y || x != y))"


def test_no_rule_can_run_for_ever() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(numbers, {"rule": PAIRS}, {"rule": "false", "message": "never asked"})
    assert found(checked, list(range(60))) == ["spec: Invalid value: never asked"]
    assert found(checked, list(range(2000))) == [
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
        f"validation rules will be run due to call cost exceeds limit for rule: {PAIRS}"
    ]


def test_all_rules_of_an_object_share_what_may_be_spent() -> None:
    numbers = {"type": "array", "items": INTEGER}
    checked = rules(numbers, *({"rule": PAIRS} for _ in range(30)))
    (text,) = found(checked, list(range(250)))
    assert "actual cost limit exceeded" in text
