"""Checks of single fields that OpenKruise's webhooks take from Kubernetes, with its messages. Pure.

Upstream: ``ValidateLabelSelector``, ``ValidatePositiveIntOrPercent``, ``IsNotMoreThan100Percent`` and
``ValidateAnnotations`` of Kubernetes, ``strconv.ParseInt`` of Go.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path
from podling.machinery.names import label_value_errors, percent_errors, qualified_name_errors
from podling.machinery.numbers import INT32_MAX, natural

Errors = list[FieldError]

ANNOTATIONS_BYTES_MAX = 256 * 1024
_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")


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


def selector_errors(where: Path, selector: LabelSelector) -> Errors:
    """Return what is wrong with a label selector."""
    found: Errors = []
    labels = where.child("matchLabels")
    for key, value in sorted(selector.match_labels.items()):
        found += [fields.invalid(labels, key, why) for why in qualified_name_errors(key)]
        found += [fields.invalid(labels, value, why) for why in label_value_errors(value)]
    for number, each in enumerate(selector.match_expressions):
        found += _requirement_errors(where.child("matchExpressions").index(number), each)
    return found


def _requirement_errors(where: Path, requirement: LabelSelectorRequirement) -> Errors:
    found: Errors = []
    operator, values = requirement.operator, where.child("values")
    if operator in _WITH_VALUES and not requirement.values:
        found.append(fields.required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT_VALUES and requirement.values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        found.append(fields.forbidden(values, text))
    elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        found.append(fields.invalid(where.child("operator"), operator, "not a valid selector operator"))
    key = requirement.key
    found += [fields.invalid(where.child("key"), key, why) for why in qualified_name_errors(key)]
    for number, value in enumerate(requirement.values):
        at = values.index(number)
        found += [fields.invalid(at, value, why) for why in label_value_errors(value)]
    return found


def annotation_errors(where: Path, annotations: Mapping[str, str]) -> Errors:
    """Return what is wrong with annotations: their keys, and their total size."""
    found: Errors = []
    for key in sorted(annotations):
        found += [fields.invalid(where, key, why) for why in qualified_name_errors(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_BYTES_MAX:
        found.append(fields.too_long(where, ANNOTATIONS_BYTES_MAX))
    return found
