"""Equality and sums of values whose schema gives them a meaning of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podling.apiserver.cel.equality import added, equality
from podling.apiserver.cel.types import INT, STRING, Field, Type, list_of, map_of
from podling.apiserver.cel.values import Optional

SET = replace(list_of(INT), list_type="set")
PORT = Type("object", label="port", fields={"n": Field("n", INT), "tags": Field("tags", SET)})
PORTS = replace(list_of(PORT), list_type="map", keys=("n",))
TIME, DURATION, BYTES = Type("timestamp"), Type("duration"), Type("bytes")


@pytest.mark.parametrize(
    ("type_", "left", "right", "equal"),
    [
        (list_of(INT), [1, 2], [2, 1], False),
        (SET, [1, 2], [2, 1], True),
        (SET, [1, 2], [1, 3], False),
        (SET, [1, 2], [1], False),
        (
            replace(list_of(TIME), list_type="set"),
            ["2026-01-01T00:00:00Z"],
            ["2026-01-01T01:00:00+01:00"],
            True,
        ),
        (list_of(SET), [[1, 2], [3]], [[2, 1], [3]], True),
        (list_of(SET), [[1, 2], [3]], [[3], [1, 2]], False),
        (PORT, {"n": 1, "tags": [1, 2]}, {"n": 1, "tags": [2, 1]}, True),
        (PORT, {"n": 1}, {"n": 1, "tags": []}, False),
        (PORT, {"n": 1}, None, False),
        (PORTS, [{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}], True),
        (PORTS, [{"n": 1, "tags": [1, 2]}], [{"n": 1, "tags": [2, 1]}], True),
        (PORTS, [{"n": 1}], [{"n": 2}], False),
        (map_of(STRING, SET), {"a": [1, 2]}, {"a": [2, 1]}, True),
        (map_of(STRING, SET), {"a": [1]}, {"b": [1]}, False),
        (DURATION, "60s", "1m", True),
        (DURATION, "60s", "61s", False),
        (BYTES, "YQ==", b"a", True),
        (Type("optional", (SET,)), Optional([1, 2], True), Optional([2, 1], True), True),
        (Type("optional", (SET,)), Optional([1], True), Optional(), False),
        (Type("optional", (SET,)), Optional(), Optional(), True),
    ],
)
def test_values_are_equal_by_the_meaning_of_their_type(
    type_: Type, left: Any, right: Any, equal: bool
) -> None:
    assert equality(type_)(left, right) is equal


@pytest.mark.parametrize(
    ("type_", "left", "right", "total"),
    [
        (list_of(INT), [1, 2], [2, 3], [1, 2, 2, 3]),
        (SET, [1, 2], [3, 2, 3], [1, 2, 3]),
        (replace(list_of(SET), list_type="set"), [[1, 2]], [[2, 1], [3]], [[1, 2], [3]]),
        (
            PORTS,
            [{"n": 1}, {"n": 2}],
            [{"n": 3}, {"n": 1, "tags": [9]}],
            [{"n": 1, "tags": [9]}, {"n": 2}, {"n": 3}],
        ),
    ],
)
def test_sum_of_lists_follows_their_type(type_: Type, left: Any, right: Any, total: Any) -> None:
    before = list(left)
    assert added(type_)(left, right) == total
    assert left == before


def test_type_that_contains_itself_is_compared() -> None:
    fields: dict[str, Field] = {"set": Field("set", SET)}
    node = Type("object", label="node", fields=fields)
    fields["next"] = Field("next", node)
    equal = equality(node)
    assert equal({"next": {"set": [1, 2]}}, {"next": {"set": [2, 1]}})
    assert not equal({"next": {"set": [1, 2]}}, {"next": {"set": [2]}})
