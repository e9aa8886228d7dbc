"""Plain data: deep copies, comparison, and the text of messages."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.encoding.plain import copied, equal, go_text, json_type, without_nulls


def test_copy_shares_nothing_with_original() -> None:
    original = {"a": [{"b": 1}], "c": None}
    copy = copied(original)
    assert copy == original
    copy["a"][0]["b"] = 2
    copy["a"].append(3)
    assert original == {"a": [{"b": 1}], "c": None}


def test_null_fields_are_left_out_at_any_depth_but_null_items_stay() -> None:
    assert without_nulls({"a": None, "b": [{"c": None, "d": 0}, None]}) == {"b": [{"d": 0}, None]}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [1], False),
        ([{"a": "x"}], [{"a": "x"}], True),
        (None, False, False),
    ],
)
def test_comparison_distinguishes_booleans_from_numbers(left: Any, right: Any, same: bool) -> None:
    assert equal(left, right) is same
    assert equal(right, left) is same


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, "null", "<nil>"),
        (True, "bool", "true"),
        (False, "bool", "false"),
        (1, "number", "1"),
        (1.5, "number", "1.5"),
        ("x", "string", "x"),
        ([1, None], "array", "[1 <nil>]"),
        ({"b": ["x", "y"], "a": 1}, "object", "map[a:1 b:[x y]]"),
    ],
)
def test_value_has_gos_type_and_text(value: Any, type_: str, text: str) -> None:
    assert (json_type(value), go_text(value)) == (type_, text)
