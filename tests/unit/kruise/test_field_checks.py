"""Checks of single fields: amounts, integers in text.

Cases: ``TestValidateNonnegativeIntOrPercent`` and ``TestGetPercentValue`` of ``pkg/webhook/daemonset``, and
Go's ``strconv.ParseInt``.
"""

from __future__ import annotations

import pytest

from podling.machinery.fields import Path
from podling_kruise.field_checks import amount_errors, integer_problem, share_errors

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
