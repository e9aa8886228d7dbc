"""CEL's values in Python: their types, and which are equal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.apiserver.cel.values import Made, Members, Optional, Unsigned, inside, kind_of, same, type_value


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (True, "bool", "bool"),
        (1, "int", "int"),
        (Unsigned(1), "uint", "uint"),
        (1.0, "double", "double"),
        (None, "null", "null_type"),
        ([], "list", "list"),
        ({}, "map", "map"),
        (Made("Object.spec"), "map", "map"),
        (Optional(), "optional", "optional_type"),
        (timedelta(), "duration", "google.protobuf.Duration"),
        (datetime(2026, 1, 1, tzinfo=UTC), "timestamp", "google.protobuf.Timestamp"),
    ],
)
def test_value_has_a_type_and_its_name(value: Any, kind: str, shown: str) -> None:
    assert (kind_of(value), type_value(kind)) == (kind, shown)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (Unsigned(1), 1, True),
        (1, True, False),
        (0, False, False),
        (0.0, -0.0, True),
        (float("nan"), float("nan"), False),
        ("1", 1, False),
        (None, None, True),
        (None, False, False),
        ([1, 2.0], [1.0, 2], True),
        ([1], [True], False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ([], {}, False),
        ([], None, False),
        ("a", b"a", False),
    ],
)
def test_equality_and_membership_agree(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal
    if left == left:  # NaN is found by its identity
        assert (left in Members([right])) is equal
        assert inside(left, [right]) is equal
