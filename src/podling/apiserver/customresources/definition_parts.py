"""Validation of the parts of a version: its columns, subresources and selectable fields. Pure.

Upstream: ``apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.apiextensions_v1 import (
    CustomResourceColumnDefinition,
    CustomResourceSubresources,
    SelectableField,
)
from podling.apiserver.customresources.field_paths import resolved_schema
from podling.apiserver.customresources.structural import Schema
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_MAX = 8
SELECTABLE_TYPES = ("string", "boolean", "integer")


def column_errors(path: Path, columns: Sequence[CustomResourceColumnDefinition]) -> Errors:
    errors: Errors = []
    for number, column in enumerate(columns):
        where = path.index(number)
        errors += [] if column.name else [fields.required(where.child("name"))]
        text = f"must be one of {','.join(COLUMN_TYPES)}"
        if not column.type:
            errors.append(fields.required(where.child("type"), text))
        elif column.type not in COLUMN_TYPES:
            errors.append(fields.invalid(where.child("type"), column.type, text))
        if column.format and column.format not in COLUMN_FORMATS:
            text = f"must be one of {','.join(COLUMN_FORMATS)}"
            errors.append(fields.invalid(where.child("format"), column.format, text))
        at = where.child("JSONPath")
        errors += _path_errors(at, column.json_path) if column.json_path else [fields.required(at)]
    return errors


def _path_errors(path: Path, text: str) -> Errors:
    if text.startswith("."):
        return []
    return [fields.invalid(path, text, "must be a simple json path starting with .")]


def subresource_errors(path: Path, asked: CustomResourceSubresources | None) -> Errors:
    scale = asked.scale if asked is not None else None
    if scale is None:
        return []
    where, errors = path.child("scale"), list[FieldError]()
    for name, value, roots, words in (
        ("specReplicasPath", scale.spec_replicas_path, (".spec.",), "under .spec"),
        ("statusReplicasPath", scale.status_replicas_path, (".status.",), "under .status"),
        (
            "labelSelectorPath",
            scale.label_selector_path,
            (".spec.", ".status."),
            "under either .spec or .status",
        ),
    ):
        at = where.child(name)
        if not value:
            errors += [] if name == "labelSelectorPath" else [fields.required(at)]
            continue
        wrong = _path_errors(at, value)
        if not wrong and not value.startswith(roots):
            wrong = [fields.invalid(at, value, f"should be a json path {words}")]
        errors += wrong
    return errors


def selectable_errors(path: Path, asked: Sequence[SelectableField], schema: Schema) -> Errors:
    errors: Errors = []
    seen: set[Path] = set()
    for position, each in enumerate(asked):
        at, text = path.index(position).child("jsonPath"), each.json_path
        if not text:
            errors.append(fields.required(at))
            continue
        try:
            found, part = resolved_schema(text, schema, brackets=False)
        except ValueError as error:
            errors.append(fields.invalid(at, text, f"is an invalid path: {error}"))
            continue
        if text.split(".")[1] == "metadata":
            errors.append(fields.invalid(at, text, "must not point to fields in metadata"))
        if part.type not in SELECTABLE_TYPES:
            words = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings "
                "with formats are allowed."
            )
            errors.append(fields.invalid(at, text, words))
        errors += [fields.duplicate(at, text)] if found in seen else []
        seen.add(found)
    if len(seen) > SELECTABLE_MAX:
        errors.append(fields.too_many(path, len(seen), SELECTABLE_MAX))
    return errors
