"""Checks of labels, label selectors and annotations, as Kubernetes' field errors. Pure.

Upstream: ``apimachinery/pkg/apis/meta/v1/validation``, ``apimachinery/pkg/api/validation/objectmeta.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.machinery import fields, names
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]

SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
MAX_ANNOTATIONS_BYTES = 256 * 1024


def labels(path: Path, values: Mapping[str, str]) -> Errors:
    """Check the keys and values of a map of labels."""
    errors: Errors = []
    for key, value in sorted(values.items()):
        if problems := names.qualified_name_errors(key):
            errors += fields.invalid_each(path, key, problems)
        if problems := names.label_value_errors(value):
            errors += fields.invalid_each(path, value, problems)
    return errors


def label_selector(path: Path, selector: LabelSelector | None) -> Errors:
    if selector is None:
        return []
    errors = labels(path.child("matchLabels"), selector.match_labels)
    for position, requirement in enumerate(selector.match_expressions):
        errors += label_requirement(path.child("matchExpressions").index(position), requirement)
    return errors


def label_requirement(
    path: Path, requirement: LabelSelectorRequirement, *, any_operator: bool = False
) -> Errors:
    errors = operand_errors(path, requirement.operator, requirement.values)
    if requirement.operator not in SELECTOR_OPERATORS and not any_operator:
        text = "not a valid selector operator"
        errors.append(fields.invalid(path.child("operator"), requirement.operator, text))
    key = requirement.key
    errors += fields.invalid_each(path.child("key"), key, names.qualified_name_errors(key))
    for position, value in enumerate(requirement.values):
        errors += fields.invalid_each(
            path.child("values").index(position), value, names.label_value_errors(value)
        )
    return errors


def operand_errors(path: Path, operator: str, values: Sequence[str]) -> Errors:
    """Return an error if a selector requirement lacks values, or has values that its operator forbids."""
    where = path.child("values")
    if operator in ("In", "NotIn") and not values:
        return [fields.required(where, "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [fields.forbidden(where, text)]
    return []


def annotation_map(path: Path, values: Mapping[str, str]) -> Errors:
    """Check annotations: keys like labels in any case, and a limited total size."""
    errors: Errors = []
    for key in sorted(values):
        errors += fields.invalid_each(path, key, names.qualified_name_errors(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in values.items()) > MAX_ANNOTATIONS_BYTES:
        errors.append(fields.too_long(path, MAX_ANNOTATIONS_BYTES))
    return errors
