"""Checks of a custom object beyond its schema's own keywords: duplicates in lists, metadata of embedded
objects, and the numbers of its scale. Pure.

Upstream: ``schema/listtype``, ``schema/objectmeta`` and ``registry/customresource/validator.go`` of
``apiextensions-apiserver``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from podling.api.apiextensions_v1 import CustomResourceSubresourceScale
from podling.apiserver.customresources.structural import LIST_KEYS, LIST_TYPE, Schema
from podling.apiserver.kinds.common.checks import MAX_INT32
from podling.apiserver.kinds.common.metadata import check_embedded
from podling.machinery import fields, names
from podling.machinery.encoding.intake import object_meta
from podling.machinery.encoding.plain import go_text
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]

BLOCKING = {
    fields.ErrorType.NOT_SUPPORTED,
    fields.ErrorType.REQUIRED,
    fields.ErrorType.TOO_LONG,
    fields.ErrorType.TOO_MANY,
    fields.ErrorType.TYPE_INVALID,
}
"""With any of these errors, rules would read invalid values."""
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors "
    "to complete validation"
)


def blocked(errors: Errors) -> Errors:
    """Return the message in place of the rules' errors, when they cannot be evaluated."""
    if any(each.type in BLOCKING for each in errors):
        return [fields.invalid(Path(), None, NOT_CHECKED)]
    return []


def list_errors(value: Any, schema: Schema, path: Path) -> Errors:
    """Items that a set or a map of items has twice, anywhere in a value."""
    errors: Errors = []
    if isinstance(value, dict):
        for name, item in value.items():
            if schema.values is not None:
                errors += list_errors(item, schema.values, path.key(name))
            if name in schema.properties:
                errors += list_errors(item, schema.properties[name], path.child(name))
    elif isinstance(value, list):
        errors += _repeated(value, schema.plain, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                errors += list_errors(item, schema.items, path.index(index))
    return errors


def _repeated(value: list[Any], schema: Mapping[str, Any], path: Path) -> Errors:
    list_type, shown = schema.get(LIST_TYPE), value
    if list_type not in ("set", "map"):
        return []
    if list_type == "map":
        keys = schema.get(LIST_KEYS) or ()
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                text = "must be an object for an array of list-type map"
                return [fields.invalid(path.index(index), item, text)]
        shown = [{key: item[key] for key in keys if key in (item or {})} for item in value]
    errors: Errors = []
    seen: dict[bytes, int] = {}
    for index, item in enumerate(shown):
        identity = msgspec.json.encode(item, order="sorted")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:  # a third occurrence is not reported
            errors.append(fields.duplicate(path.index(index), item))
    return errors


def embedded_errors(value: Any, schema: Schema | None, path: Path) -> Errors:
    """Return the errors of type and metadata of embedded objects."""
    errors: Errors = []
    if schema is None:
        return errors
    if isinstance(value, dict):
        errors += _head_errors(value, path) if schema.embedded else []
        for name, item in value.items():
            if name in schema.properties:
                errors += embedded_errors(item, schema.properties[name], path.child(name))
            else:
                errors += embedded_errors(item, schema.values, path.key(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            errors += embedded_errors(item, schema.items, path.index(index))
    return errors


def _head_errors(value: dict[str, Any], path: Path) -> Errors:
    errors = [fields.required(path.child(name)) for name in ("apiVersion", "kind") if name not in value]
    for name in ("apiVersion", "kind"):
        if name not in value:
            continue
        given, where = value[name], path.child(name)
        if not isinstance(given, str):
            errors.append(fields.invalid(where, given, "must be a string"))
        elif not given:
            errors.append(fields.required(where))
        elif name == "apiVersion" and given.count("/") > 1:
            errors.append(fields.invalid(where, given, f"unexpected GroupVersion string: {given}"))
        elif name == "kind" and (problems := names.dns_1035_label_errors(given.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.append(fields.invalid(where, given, text))
    if value.get("metadata") is not None:
        errors += _metadata_errors(value["metadata"], path.child("metadata"))
    return errors


def _metadata_errors(given: Any, where: Path) -> Errors:
    try:
        metadata = object_meta(given)
    except msgspec.ValidationError as error:
        return [fields.invalid(where, given, str(error))]
    found = check_embedded(metadata)
    return [replace(each, field=where.text + each.field.removeprefix("metadata")) for each in found]


def scale_errors(content: dict[str, Any], scale: CustomResourceSubresourceScale, *, spec: bool) -> Errors:
    """Return the errors that prevent a scale of the object. ``spec``: the desired replicas may change."""
    errors = _replicas_errors(content, scale.spec_replicas_path) if spec else []
    errors += _replicas_errors(content, scale.status_replicas_path)
    selector = scale.label_selector_path
    if selector is not None:
        problem, value = _found(content, selector, str, "string")
        if problem:
            errors.append(fields.invalid(Path(selector), value or "", problem))
    return errors


def _replicas_errors(content: dict[str, Any], path: str) -> Errors:
    problem, value = _found(content, path, int, "int64")
    if problem:
        return [fields.invalid(Path(path), 0, problem)]
    if value is not None and value < 0:
        return [fields.invalid(Path(path), value, "should be a non-negative integer")]
    if value is not None and value > MAX_INT32:
        return [fields.invalid(Path(path), value, f"should be less than or equal to {MAX_INT32}")]
    return []


def _found(content: dict[str, Any], path: str, type_: type[Any], name: str) -> tuple[str, Any]:
    """Return the value at a path of names, and the error of its type."""
    steps = path.removeprefix(".").split(".")
    value: Any = content
    for position, step in enumerate(steps):
        if value is None:
            return "", None
        if not isinstance(value, dict):
            so_far = "." + ".".join(steps[: position + 1])
            return f"{so_far} accessor error: {_go(value)}, expected map[string]interface{{}}", None
        if step not in value:
            return "", None
        value = value[step]
    if not isinstance(value, type_) or isinstance(value, bool):
        whole = "." + ".".join(steps)
        return f"{whole} accessor error: {_go(value)}, expected {name}", None
    return "", value


_GO_TYPES = {bool: "bool", int: "int64", float: "float64", str: "string", type(None): "<nil>"}


def _go(value: Any) -> str:
    name = "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"
    return f"{go_text(value)} is of the type {_GO_TYPES.get(type(value), name)}"
