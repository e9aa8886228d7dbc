"""Selectors: what they select, and what is said of those that cannot be read."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api import core_v1, meta_v1
from podling.machinery import selectors
from podling.machinery.selectors import SelectorError, parse_field_selector, parse_label_selector

LABELS = {"app": "web", "tier": "front", "cores": "4", "empty": ""}

SELECTED = [
    "", "app=web", "app==web", "app!=db", "app in (web, db)", "app notin (db)", "app", "!gone", "gone!=x",
    "gone notin (x)", "cores>3", "cores<5", "app=web,tier=front", " app = web , !gone ", "empty=",
    "empty in ()", "empty in (,x)",
]  # fmt: skip
NOT_SELECTED = [
    "app=db", "app!=web", "app in (db)", "app notin (web,db)", "!app", "gone", "gone=x", "cores>4", "cores<4",
    "app>3", "gone>1", "app=web,tier=back",
]  # fmt: skip


@pytest.mark.parametrize("text", SELECTED)
def test_selector_matches_labels(text: str) -> None:
    assert parse_label_selector(text).matches(LABELS)


@pytest.mark.parametrize("text", NOT_SELECTED)
def test_selector_does_not_match_labels(text: str) -> None:
    assert not parse_label_selector(text).matches(LABELS)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a>=1", "unable to parse requirement: found '=', expected: identifier"),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_unreadable_label_selectors(text: str, error: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == error


def test_keys_and_values_must_be_good_labels() -> None:
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: <nil>: Invalid value: "a\$": name part'
    ):
        parse_label_selector("a$=b")
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-"'
    ):
        parse_label_selector("a=-")


def test_the_text_is_canonical() -> None:
    assert str(parse_label_selector("z = 1, b in (y,x), !a, c>1")) == "!a,b in (x,y),c>1,z=1"


def test_absent_selects_nothing_and_empty_everything() -> None:
    assert not selectors.from_label_selector(None).matches(LABELS)
    assert selectors.from_label_selector(meta_v1.LabelSelector()).matches({})
    assert selectors.EVERYTHING.empty
    assert not selectors.NOTHING.empty


def expression(key: str, operator: str, *values: str) -> meta_v1.LabelSelectorRequirement:
    return meta_v1.LabelSelectorRequirement(key=key, operator=operator, values=values)


def test_the_selector_of_a_spec() -> None:
    selector = meta_v1.LabelSelector(
        match_labels={"app": "web"},
        match_expressions=(expression("tier", "In", "front", "back"), expression("gone", "DoesNotExist")),
    )
    parsed = selectors.from_label_selector(selector)
    assert str(parsed) == "app=web,!gone,tier in (back,front)"
    assert parsed.matches(LABELS)
    assert not parsed.matches({**LABELS, "gone": ""})


def test_a_spec_knows_only_four_operators() -> None:
    selector = meta_v1.LabelSelector(match_expressions=(expression("a", "Gt", "1"),))
    with pytest.raises(SelectorError, match=r'^"Gt" is not a valid label selector operator$'):
        selectors.from_label_selector(selector)


def test_in_without_values_is_refused() -> None:
    selector = meta_v1.LabelSelector(match_expressions=(expression("a", "In"),))
    with pytest.raises(SelectorError, match="for 'in', 'notin' operators, values set can't be empty"):
        selectors.from_label_selector(selector)


def test_node_affinity_compares_numbers() -> None:
    more = core_v1.NodeSelectorRequirement(key="cores", operator="Gt", values=("3",))
    assert selectors.from_node_selector_requirements((more,)).matches(LABELS)


def test_field_selector_matches_fields() -> None:
    selector = parse_field_selector("metadata.name=web,status.phase!=Failed,spec.nodeName==")
    assert selector.matches({"metadata.name": "web", "status.phase": "Running", "spec.nodeName": ""})
    assert selector.matches({"metadata.name": "web"})
    assert not selector.matches({"metadata.name": "web", "status.phase": "Failed"})
    assert selector.fields == ("metadata.name", "status.phase", "spec.nodeName")
    assert selector.required_value("metadata.name") == "web"
    assert selector.required_value("status.phase") is None
    assert str(selector) == "metadata.name=web,status.phase!=Failed,spec.nodeName="


def test_field_values_may_be_escaped() -> None:
    (term,) = parse_field_selector(r"a=b\,c\=d\\e").terms
    assert term.value == r"b,c=d\e"
    assert parse_field_selector(str(term)).terms == (term,)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        (r"a=b\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_unreadable_field_selectors(text: str, error: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == error


keys = st.sampled_from(["a", "b", "example.com/c"])
values = st.sampled_from(["", "x", "y", "7"])
requirements = st.one_of(
    st.builds(lambda key, value: f"{key}={value}", keys, values),
    st.builds(lambda key, value: f"{key}!={value}", keys, values),
    st.builds(lambda key, some: f"{key} in ({','.join(some)})", keys, st.lists(values, min_size=1)),
    st.builds(lambda key, some: f"{key} notin ({','.join(some)})", keys, st.lists(values, min_size=1)),
    st.builds(lambda key: key, keys),
    st.builds(lambda key: f"!{key}", keys),
    st.builds(lambda key, number: f"{key}>{number}", keys, st.integers(0, 9)),
)
labels = st.dictionaries(keys, values)


@given(st.lists(requirements, max_size=4), labels)
def test_a_selector_and_its_text_select_the_same(texts: list[str], found: dict[str, str]) -> None:
    selector = parse_label_selector(",".join(texts))
    assert parse_label_selector(str(selector)) == selector
    assert selector.matches(found) == all(parse_label_selector(text).matches(found) for text in texts)


@given(labels, labels)
def test_equality_selectors_are_subset_tests(wanted: dict[str, str], found: dict[str, str]) -> None:
    assert selectors.from_labels(wanted).matches(found) == (wanted.items() <= found.items())


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(SelectorError):
        assert parse_label_selector(text).matches({}) in (True, False)
    with suppress(SelectorError):
        assert parse_field_selector(text).matches({}) in (True, False)
