"""Structural schemas: every type is stated once, outside of ``allOf`` and the like. Pure.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/{convert,validation,complete}.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.apiserver.cel.patterns import pattern
from podling.apiserver.customresources.structural import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    RULES,
)
from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]
Plain = Mapping[str, Any]

ROOT, ITEM, FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING_PATTERN = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
_FORBIDDEN_BELOW = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "externalDocs": "must be undefined to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    INT_OR_STRING: "must be false to be structural",
    LIST_KEYS: "must be empty to be structural",
    LIST_TYPE: "must be undefined to be structural",
    MAP_TYPE: "must be undefined to be structural",
    RULES: "must be empty to be structural",
}
"""Keywords forbidden under ``allOf`` and the like, with their messages."""
_METADATA_SAYS = {"type", "properties", "default", "example"}
"""Keywords allowed for an object's own metadata, as they change nothing."""


def unsupported(plain: Plain) -> str:
    """Why a schema has no structural form at all; empty when it has one."""
    for name, shown in _UNSUPPORTED.items():
        if plain.get(name):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if isinstance(plain.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if plain.get(PRESERVE) is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    below = [
        each for name in ("not", "additionalProperties", "items") if isinstance(each := plain.get(name), dict)
    ]
    below += [each for name in ("allOf", "anyOf", "oneOf") for each in plain.get(name) or ()]
    below += (plain.get("properties") or {}).values()
    return next((found for each in below if (found := unsupported(each))), "")


def structural_errors(path: Path, plain: Plain) -> Errors:
    """Return the errors that prevent a structural schema, in the order of messages."""
    errors = _invariants(path, plain, ROOT) + _incomplete(plain, plain, path, path)
    return sorted(errors, key=str)


def _invariants(path: Path, plain: Plain, level: str) -> Errors:
    errors: Errors = []
    items, more = plain.get("items"), plain.get("additionalProperties")
    if plain.get("type") == "array" and items is None:
        errors.append(fields.required(path.child("items"), "must be specified"))
    if isinstance(items, dict):
        errors += _invariants(path.child("items"), items, ITEM)
    for name, each in (plain.get("properties") or {}).items():
        errors += _invariants(path.child("properties").key(name), each, FIELD)
    if more is not None and level == ROOT:
        errors.append(fields.forbidden(path.child("additionalProperties"), "must not be used at the root"))
    if isinstance(more, dict):
        errors += _invariants(path.child("additionalProperties"), more, FIELD)
    if plain.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if plain.get(name):
                text = "must be false if x-kubernetes-int-or-string is true"
                errors.append(fields.invalid(path.child(name), True, text))
    errors += _value_errors(path, plain, skip_any_of=False, outside=True)
    return errors + _type_errors(path, plain, level) + _head_errors(path, plain, level)


def _type_errors(path: Path, plain: Plain, level: str) -> Errors:
    errors: Errors = []
    kind, where = plain.get("type") or "", path.child("type")
    if plain.get(EMBEDDED) and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(fields.invalid(where, kind, text) if kind else fields.required(where, text))
    elif not kind and not plain.get(INT_OR_STRING) and not plain.get(PRESERVE):
        errors.append(fields.required(where, f"must not be empty {level}"))
    if plain.get(EMBEDDED) and plain.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(fields.forbidden(path.child("additionalProperties"), text))
    if level == ROOT and kind and kind != "object":
        errors.append(fields.invalid(where, kind, "must be object at the root"))
    return errors


def _head_errors(path: Path, plain: Plain, level: str) -> Errors:
    """Return the errors of the schema for the fields that every object has."""
    errors: Errors = []
    properties = plain.get("properties") or {}
    checked = {"kind": "string", "apiVersion": "string", "metadata": "object"}
    for name, wanted in checked.items() if level == ROOT or plain.get(EMBEDDED) else ():
        part = properties.get(name)
        if part is not None and part.get("type") != wanted:
            where = path.child("properties").key(name).child("type")
            errors.append(fields.invalid(where, part.get("type") or "", f"must be {wanted}"))
    metadata = properties.get("metadata")
    if metadata is not None and level == ROOT:
        restricted = set(metadata.get("properties") or ()) <= {"name", "generateName"}
        if not restricted or metadata.keys() - _METADATA_SAYS:
            text = (
                "must not specify anything other than name and generateName, but metadata is implicitly "
                "specified"
            )
            errors.append(fields.forbidden(path.child("properties").key("metadata"), text))
    if plain.get(EMBEDDED) and not plain.get(PRESERVE) and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(fields.required(path.child("properties"), text))
    return errors


def _value_errors(path: Path, plain: Plain, *, skip_any_of: bool, outside: bool = False) -> Errors:
    """Return the errors of value validations. ``int-or-string`` may name its types, outside or in the first
    of
    ``allOf``."""
    errors: Errors = []
    any_of, all_of = plain.get("anyOf") or [], plain.get("allOf") or []
    if not skip_any_of and not (outside and any_of == _INT_OR_STRING_PATTERN):
        for at, each in enumerate(any_of):
            errors += _nested_errors(path.child("anyOf").index(at), each)
    for at, each in enumerate(all_of):
        skip = outside and at == 0 and each.get("anyOf") == _INT_OR_STRING_PATTERN
        errors += _nested_errors(path.child("allOf").index(at), each, skip_any_of=skip)
    for at, each in enumerate(plain.get("oneOf") or ()):
        errors += _nested_errors(path.child("oneOf").index(at), each)
    if isinstance(plain.get("not"), dict):
        errors += _nested_errors(path.child("not"), plain["not"])
    try:
        pattern(plain.get("pattern") or "")
    except ValueError as error:
        text = f"must be a valid regular expression, but isn't: {error}"
        errors.append(fields.invalid(path.child("pattern"), plain["pattern"], text))
    return errors


def _nested_errors(path: Path, plain: Plain, *, skip_any_of: bool = False) -> Errors:
    """Return a schema that only restricts: it may not say what a value is."""
    errors = _value_errors(path, plain, skip_any_of=skip_any_of)
    errors += [
        fields.forbidden(path.child(name), text)
        for name, text in _FORBIDDEN_BELOW.items()
        if plain.get(name) or (name == "additionalProperties" and plain.get(name) is False)
    ]
    for name, each in (plain.get("properties") or {}).items():
        if name == "metadata":
            where, text = path.child("properties").key(name), "must not be specified in a nested context"
            errors.append(fields.forbidden(where, text))
        errors += _nested_errors(path.child("properties").key(name), each)
    if isinstance(plain.get("items"), dict):
        errors += _nested_errors(path.child("items"), plain["items"])
    return errors


def _incomplete(plain: Plain, spine: Plain, at: Path, where: Path) -> Errors:
    """Fields and items that ``plain`` restricts and ``spine`` does not have. ``at``: where ``spine`` is."""
    nested = [(where.child("not"), plain["not"])] if isinstance(plain.get("not"), dict) else []
    for name in ("allOf", "anyOf", "oneOf"):
        nested += [(where.child(name).index(at_), each) for at_, each in enumerate(plain.get(name) or ())]
    return [error for place, each in nested for error in _incomplete_below(each, spine, at, place)]


def _incomplete_below(nested: Plain, spine: Plain, at: Path, where: Path) -> Errors:
    errors = _incomplete(nested, spine, at, where)
    parts = [(nested.get("items"), spine.get("items"), at.child("items"), where.child("items"))]
    known = spine.get("properties") or {}
    for name, each in (nested.get("properties") or {}).items():
        inside = at.child("properties").key(name), where.child("properties").key(name)
        parts.append((each, known.get(name), *inside))
    for part, own, own_at, place in parts:
        if isinstance(part, dict) and not isinstance(own, dict):
            errors.append(fields.required(own_at, f"because it is defined in {place}"))
        elif isinstance(part, dict) and isinstance(own, dict):
            errors += _incomplete_below(part, own, own_at, place)
    return errors
