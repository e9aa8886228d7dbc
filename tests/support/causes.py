"""Short forms of a 422's causes, for tables of invalid objects and the expected answers."""

from __future__ import annotations

from typing import Any

from podling.machinery.fields import FieldError

LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

Cause = tuple[str, str, str]
"""A cause of a 422: field, reason, message."""

Row = tuple[str, list[Cause]]
"""A fragment of a manifest, and its errors."""

KindRow = tuple[type[Any], str, list[Cause]]
"""The same for tables of several kinds."""


def required(field: str, detail: str = "") -> Cause:
    return field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value"


def invalid(field: str, shown: str, detail: str) -> Cause:
    """``shown`` is the value as the message spells it: a string in its quotes."""
    return field, "FieldValueInvalid", f"Invalid value: {shown}: {detail}"


def forbidden(field: str, detail: str) -> Cause:
    return field, "FieldValueForbidden", f"Forbidden: {detail}"


def duplicate(field: str, shown: str) -> Cause:
    return field, "FieldValueDuplicate", f"Duplicate value: {shown}"


def unsupported(field: str, value: str, *supported: str) -> Cause:
    listed = ", ".join(f'"{each}"' for each in supported)
    return field, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}'


def not_found(field: str, shown: str, detail: str) -> Cause:
    return field, "FieldValueNotFound", f"Not found: {shown}: {detail}"


def too_long(field: str, most: int) -> Cause:
    """``most`` is in bytes."""
    return field, "FieldValueTooLong", f"Too long: may not be more than {most} bytes"


def too_many(field: str, items: int, most: int) -> Cause:
    return field, "FieldValueTooMany", f"Too many: {items}: must have at most {most} items"


def causes(errors: list[FieldError]) -> list[Cause]:
    """Return the causes that an answer shows of a validation's errors."""
    return [(error.field, error.type.value, error.body()) for error in errors]
