"""Checks of single fields that OpenKruise's webhooks take from Kubernetes, with its messages. Pure.

Upstream: ``ValidatePositiveIntOrPercent`` and ``IsNotMoreThan100Percent`` of Kubernetes, and
``strconv.ParseInt`` of Go.
"""

from __future__ import annotations

from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.names import percent_errors
from podling.machinery.numbers import INT32_MAX, natural

Errors = list[FieldError]


def non_negative(where: Path, value: int | None) -> Errors:
    if value is None or value >= 0:
        return []
    return [fields.invalid(where, value, "must be greater than or equal to 0")]


def amount_errors(where: Path, value: int | str | None) -> Errors:
    """Return what is wrong with a number that may be a percentage."""
    if isinstance(value, str):
        return [fields.invalid(where, value, why) for why in percent_errors(value)]
    return non_negative(where, value)


def share_errors(where: Path, value: int | str | None) -> Errors:
    """Return what is wrong with a number that may be a percentage of at most 100."""
    found = amount_errors(where, value)
    if found or not isinstance(value, str):
        return found
    if natural(value.removesuffix("%"), 100) is not None:
        return []
    return [fields.invalid(where, value, "must not be greater than 100%")]


def integer_problem(text: str) -> str:
    """Return Go's message for text that is no integer of 32 bits; empty for one that is."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return f'strconv.ParseInt: parsing "{text}": invalid syntax'
    if natural(digits, INT32_MAX + text.startswith("-")) is None:
        return f'strconv.ParseInt: parsing "{text}": value out of range'
    return ""
