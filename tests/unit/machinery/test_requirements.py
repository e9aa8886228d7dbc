"""Single requirements of selectors: their checks, their matches and their text."""

from __future__ import annotations

import pytest

from podling.machinery.requirements import Operator, Requirement, SelectorError, requirement

LABELS = {"app": "web", "size": "7", "empty": ""}

GOOD = [
    ("x", Operator.IN, ("foo",)),
    ("x", Operator.NOT_IN, ("foo", "bar")),
    ("1234", Operator.EQUALS, ("bar",)),
    ("example.com/x", Operator.NOT_EQUALS, ("",)),
    ("x", Operator.EXISTS, ()),
    ("x", Operator.DOES_NOT_EXIST, ()),
    ("x", Operator.GREATER_THAN, ("1",)),
    ("x", Operator.LESS_THAN, ("9223372036854775807",)),
]

BAD = [
    (
        "x",
        Operator.IN,
        (),
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ),
    ("x", Operator.NOT_IN, (), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be"),
    (
        "x",
        Operator.EQUALS,
        (),
        "values: Invalid value: []: exact-match compatibility requires one single value",
    ),
    (
        "x",
        Operator.NOT_EQUALS,
        ("a", "b"),
        'Invalid value: ["a","b"]: exact-match compatibility requires one',
    ),
    (
        "x",
        Operator.EXISTS,
        ("a",),
        'Invalid value: ["a"]: values set must be empty for exists and does not exist',
    ),
    ("x", Operator.DOES_NOT_EXIST, ("a",), "values set must be empty for exists and does not exist"),
    ("x", Operator.GREATER_THAN, (), "for 'Gt', 'Lt' operators, exactly one value is required"),
    ("x", Operator.LESS_THAN, ("1", "2"), "for 'Gt', 'Lt' operators, exactly one value is required"),
    (
        "x",
        Operator.GREATER_THAN,
        ("bar",),
        "values[0]: Invalid value: \"bar\": for 'Gt', 'Lt' operators, the value",
    ),
    ("x", Operator.LESS_THAN, ("9223372036854775808",), "the value must be an integer"),
    ("a" * 254, Operator.EXISTS, (), "name part must be no more than 63 "),
    ("", Operator.EXISTS, (), "name part must be non-empty"),
    ("x", Operator.IN, ("a b",), 'values[0][x]: Invalid value: "a b": a valid label must be'),
]


@pytest.mark.parametrize(("key", "operator", "values"), GOOD)
def test_requirement_accepts_the_values_of_its_operator(
    key: str, operator: Operator, values: tuple[str, ...]
) -> None:
    assert requirement(key, operator, values) == Requirement(key, operator, values)


@pytest.mark.parametrize(("key", "operator", "values", "text"), BAD)
def test_requirement_refuses_bad_keys_and_values(
    key: str, operator: Operator, values: tuple[str, ...], text: str
) -> None:
    with pytest.raises(SelectorError) as caught:
        requirement(key, operator, values)
    assert text in str(caught.value)


def test_requirement_drops_repeated_values() -> None:
    assert requirement("x", Operator.EQUALS, ("a", "a")).values == ("a",)


@pytest.mark.parametrize(
    ("wanted", "matches", "text"),
    [
        (Requirement("app", Operator.IN, ("web", "db")), True, "app in (db,web)"),
        (Requirement("app", Operator.IN, ("db",)), False, "app in (db)"),
        (Requirement("none", Operator.IN, ("",)), False, "none in ()"),
        (Requirement("empty", Operator.IN, ("",)), True, "empty in ()"),
        (Requirement("app", Operator.NOT_IN, ("web",)), False, "app notin (web)"),
        (Requirement("none", Operator.NOT_IN, ("web",)), True, "none notin (web)"),
        (Requirement("app", Operator.EQUALS, ("web",)), True, "app=web"),
        (Requirement("app", Operator.DOUBLE_EQUALS, ("db",)), False, "app==db"),
        (Requirement("app", Operator.NOT_EQUALS, ("db",)), True, "app!=db"),
        (Requirement("none", Operator.NOT_EQUALS, ("db",)), True, "none!=db"),
        (Requirement("empty", Operator.EXISTS), True, "empty"),
        (Requirement("none", Operator.EXISTS), False, "none"),
        (Requirement("empty", Operator.DOES_NOT_EXIST), False, "!empty"),
        (Requirement("none", Operator.DOES_NOT_EXIST), True, "!none"),
        (Requirement("size", Operator.GREATER_THAN, ("6",)), True, "size>6"),
        (Requirement("size", Operator.GREATER_THAN, ("7",)), False, "size>7"),
        (Requirement("size", Operator.LESS_THAN, ("10",)), True, "size<10"),
        (Requirement("app", Operator.GREATER_THAN, ("0",)), False, "app>0"),
        (Requirement("none", Operator.LESS_THAN, ("9",)), False, "none<9"),
    ],
)
def test_requirement_matches_labels_and_has_upstream_text(
    wanted: Requirement, matches: bool, text: str
) -> None:
    assert wanted.matches(LABELS) is matches
    assert str(wanted) == text


def test_label_beyond_64_bits_is_no_number() -> None:
    wanted = requirement("size", Operator.GREATER_THAN, ("1",))
    assert wanted.matches({"size": "9223372036854775807"})
    assert not wanted.matches({"size": "9223372036854775808"})
