"""Selectors that may match the same objects.

Cases: ``TestSelectorConflict`` and ``TestSelectorLooseOverlap`` of ``pkg/util``.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.meta_v1 import LabelSelector
from podling.machinery.encoding import codec
from podling_kruise.selector_overlap import selectors_loosely_overlap, selectors_overlap


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
        ({"matchLabels": {"a": "h", "b": "i", "c": "j"}}, {"matchLabels": {"a": "h", "b": "x"}}, False),
        ({"matchLabels": {"a": "h"}}, expression("a", "In", "h", "i", "j"), True),
        ({"matchLabels": {"a": "h"}}, expression("a", "In", "i", "j"), False),
        (expression("a", "NotIn", "h", "i"), {"matchLabels": {"a": "h"}}, False),
        ({"matchLabels": {"a": "h"}}, expression("a", "Exists"), True),
    ],
)
def test_selectors_that_contradict_each_other_do_not_overlap(
    one: dict[str, Any], other: dict[str, Any], overlap: bool
) -> None:
    first, second = (codec.from_plain(each, LabelSelector) for each in (one, other))
    assert selectors_overlap(first, second) is overlap
    assert selectors_overlap(second, first) is overlap


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (expression("a", "In", "b", "c"), expression("a", "Exists"), True),
        (expression("a", "In", "b", "c"), expression("a", "In", "b", "e", "f"), True),
        (expression("a", "In", "b", "c"), expression("a", "In", "d", "e"), False),
        (expression("a", "In", "b", "c"), expression("a", "NotIn", "b", "c", "f"), False),
        (expression("a", "In", "b", "c"), expression("a", "NotIn", "b"), True),
        (expression("a", "In", "b", "c"), expression("a", "DoesNotExist"), False),
        (expression("a", "NotIn", "b", "c"), expression("a", "In", "b"), False),
        (expression("a", "NotIn", "b", "c"), expression("a", "In", "b", "c", "e"), True),
        (expression("a", "NotIn", "b"), expression("a", "NotIn", "b"), True),
        (expression("a", "DoesNotExist"), expression("a", "NotIn", "b", "c", "e"), True),
        (expression("a", "DoesNotExist"), expression("a", "DoesNotExist"), True),
        (expression("a", "DoesNotExist"), expression("a", "Exists"), False),
        (expression("a", "Exists"), expression("a", "Exists"), True),
        ({"matchLabels": {"a": "b"}}, expression("a", "In", "b"), True),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}, False),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}, False),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b", "c": "d"}}, False),
    ],
)
def test_selectors_about_the_same_labels_overlap_loosely(
    one: dict[str, Any], other: dict[str, Any], overlap: bool
) -> None:
    first, second = (codec.from_plain(each, LabelSelector) for each in (one, other))
    assert selectors_loosely_overlap(first, second) is overlap
    assert selectors_loosely_overlap(second, first) is overlap
