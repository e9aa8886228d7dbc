"""Checks of single fields: selectors, amounts, integers in text, annotations.

Cases: ``TestValidateLabelSelector`` of apimachinery, ``TestValidateNonnegativeIntOrPercent`` and
``TestGetPercentValue`` of ``pkg/webhook/daemonset``, and Go's ``strconv.ParseInt``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.meta_v1 import LabelSelector
from podling.machinery.fields import Path
from podling_kruise.field_checks import (
    amount_errors,
    annotation_errors,
    integer_problem,
    selector_errors,
    share_errors,
)

WHERE = Path("spec")
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
NEGATIVE, TOO_MUCH = "must be greater than or equal to 0", "must not be greater than 100%"


@pytest.mark.parametrize(
    ("value", "as_amount", "as_share"),
    [
        (None, "", ""),
        (0, "", ""),
        (5, "", ""),
        (500, "", ""),
        (-5, NEGATIVE, NEGATIVE),
        ("50%", "", ""),
        ("0100%", "", ""),
        ("100%", "", ""),
        ("101%", "", TOO_MUCH),
        ("150%", "", TOO_MUCH),
        ("1000%", "", TOO_MUCH),
        ("invalid", PERCENT, PERCENT),
        ("5", PERCENT, PERCENT),
        ("-5%", PERCENT, PERCENT),
        ("", PERCENT, PERCENT),
    ],
)
def test_amount_is_a_number_or_a_percentage(value: int | str | None, as_amount: str, as_share: str) -> None:
    for found, wanted in ((amount_errors(WHERE, value), as_amount), (share_errors(WHERE, value), as_share)):
        assert [each.detail for each in found] == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0", ""),
        ("-1", ""),
        ("+7", ""),
        ("2147483647", ""),
        ("-2147483648", ""),
        ("2147483648", "value out of range"),
        ("-2147483649", "value out of range"),
        ("9" * 50, "value out of range"),
        ("", "invalid syntax"),
        ("-", "invalid syntax"),
        ("abc", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("--1", "invalid syntax"),
        ("١", "invalid syntax"),
    ],
)
def test_integer_in_text(text: str, problem: str) -> None:
    assert integer_problem(text) == (f'strconv.ParseInt: parsing "{text}": {problem}' if problem else "")


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
    found = selector_errors(WHERE, msgspec.convert(selector, LabelSelector))
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
    found = annotation_errors(WHERE, annotations)
    assert [str(each)[: len(problem)] for each in found] == ([problem] if problem else [])
