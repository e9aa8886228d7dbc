"""Checks of labels, label selectors and annotations.

Cases: ``TestValidateLabelSelector`` of apimachinery.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.meta_v1 import LabelSelector
from podling.machinery.fields import Path
from podling.machinery.label_checks import annotation_map, label_selector

WHERE = Path("spec")


def expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


AT = "spec.matchExpressions[0]"


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ({}, ""),
        ({"matchLabels": {"a": "b"}}, ""),
        ({"matchLabels": {"a b": "c"}}, 'spec.matchLabels: Invalid value: "a b": name part must consist'),
        ({"matchLabels": {"a": "b c"}}, 'spec.matchLabels: Invalid value: "b c": a valid label must be'),
        (expression("In", "b"), ""),
        (expression("Exists"), ""),
        (
            expression("In"),
            f"{AT}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            expression("NotIn"),
            f"{AT}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            expression("DoesNotExist", "b"),
            f"{AT}.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (expression("Is", "b"), f'{AT}.operator: Invalid value: "Is": not a valid selector operator'),
        (expression("Exists", key="-"), f'{AT}.key: Invalid value: "-": name part must consist'),
        (expression("In", "b", "c d"), f'{AT}.values[1]: Invalid value: "c d": a valid label must be'),
    ],
)
def test_selector_is_checked_part_by_part(selector: dict[str, Any], problem: str) -> None:
    found = label_selector(WHERE, msgspec.convert(selector, LabelSelector))
    assert [str(each)[: len(problem)] for each in found] == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [
        ({"a": "b", "Example.com/Key": "any text"}, ""),
        ({"a b": "c"}, 'spec: Invalid value: "a b": name part must consist'),
        ({"a": "x" * (256 * 1024)}, "spec: Too long: may not be more than 262144 bytes"),
    ],
)
def test_annotations_have_keys_like_labels_and_a_size(annotations: dict[str, str], problem: str) -> None:
    found = annotation_map(WHERE, annotations)
    assert [str(each)[: len(problem)] for each in found] == ([problem] if problem else [])
