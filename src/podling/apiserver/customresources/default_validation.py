"""Validation of the defaults of a schema: each must be valid for its field. Pure.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from podling.apiserver.customresources import value_validation
from podling.apiserver.customresources.completion import pruned
from podling.apiserver.customresources.object_checks import embedded_errors
from podling.apiserver.customresources.rule_evaluation import default_rule_errors
from podling.apiserver.customresources.structural import Schema
from podling.machinery import fields
from podling.machinery.encoding.custom import HEAD
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]


def default_errors(path: Path, schema: Schema, *, root: bool = True) -> Errors:
    """Return the errors of the defaults at and below one node. Places that forbid defaults are skipped."""
    errors: Errors = []
    default = schema.plain.get("default")
    if default is not None:
        errors += _errors(path.child("default"), default, schema)
    if schema.items is not None:
        errors += default_errors(path.child("items"), schema.items, root=False)
    for name, each in schema.properties.items():
        if not (root and name in HEAD):
            errors += default_errors(path.child("properties").key(name), each, root=False)
    return errors


def _errors(where: Path, default: Any, schema: Schema) -> Errors:
    errors: Errors = []
    dropped: list[str] = []
    pruned(default, schema, dropped, root=schema.embedded)
    if dropped:
        errors.append(fields.invalid(where, default, "must not have unknown fields"))
    found = embedded_errors(default, schema, where)
    found = found or [_at(where, each) for each in value_validation.validate(default, schema.plain)]
    return errors + (found or default_rule_errors(where, default, schema))


def _at(where: Path, error: FieldError) -> FieldError:
    """Return an error of a value that does not know where it is."""
    if error.field == str(Path()):
        return replace(error, field=where.text)
    return replace(error, field=f"{where.text}.{error.field}")
