"""Selectors that may match the same objects. The cases are those of OpenKruise's ``selector.go``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.meta_v1 import LabelSelector
from podling.machinery.encoding import codec
from podling_kruise.selector_overlap import selectors_overlap


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}, False),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}, True),
        ({"matchLabels": {"a": "b", "c": "d"}}, {"matchLabels": {"a": "x", "c": "d"}}, False),
        (expression("a", "In", "b", "c"), expression("a", "NotIn", "b", "c"), False),
        (expression("a", "In", "b", "c"), expression("a", "NotIn", "b"), True),
        (expression("a", "In", "b", "c"), expression("a", "In", "c", "d"), True),
        (expression("a", "In", "b"), expression("a", "In", "d"), False),
        (expression("a", "In", "b"), expression("a", "Exists"), True),
        (expression("a", "Exists"), expression("a", "DoesNotExist"), False),
        (expression("a", "NotIn", "b"), expression("a", "DoesNotExist"), True),
        ({"matchLabels": {"a": "b"}}, expression("a", "DoesNotExist"), False),
    ],
)
def test_selectors_that_contradict_each_other_do_not_overlap(
    one: dict[str, Any], other: dict[str, Any], overlap: bool
) -> None:
    first, second = (codec.from_plain(each, LabelSelector) for each in (one, other))
    assert selectors_overlap(first, second) is overlap
    assert selectors_overlap(second, first) is overlap
