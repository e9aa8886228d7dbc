"""Whether the schema of a definition is structural, and whether all that it says can be used. Pure.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema/validation.go`` and the OpenAPI part of
``pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling.api.apiextensions_v1 import JSONSchemaProps
from podling.apiserver.customresources import values
from podling.apiserver.customresources.rule_validation import rule_errors
from podling.apiserver.customresources.structural import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    RULES,
    schema_of,
)
from podling.machinery import codec, fields
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]
Plain = Mapping[str, Any]

ROOT, ITEM, FIELD = "at the root", "for specified array items", "for specified object fields"
TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = (
    "$ref",
    "definitions",
    "dependencies",
    "additionalItems",
    "patternProperties",
    "id",
    "$schema",
)
_INT_OR_STRING_PATTERN = [{"type": "integer"}, {"type": "string"}]
_FORBIDDEN_BELOW = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    INT_OR_STRING: "must be false to be structural",
    LIST_KEYS: "must be empty to be structural",
    LIST_TYPE: "must be undefined to be structural",
    MAP_TYPE: "must be undefined to be structural",
    RULES: "must be empty to be structural",
}
"""What a schema under ``allOf`` and the like must not say, and the words for it."""


def schema_errors(path: Path, schema: JSONSchemaProps) -> Errors:
    """Everything wrong with a schema, in the order of the texts."""
    plain = codec.to_plain(schema)
    if not plain:
        return [fields.required(path.child("type"), "must not be empty at the root")]
    errors = _usable(path, plain) + _structural(path, plain, ROOT)
    if not errors:
        errors = _default_errors(path, plain) + rule_errors(path, schema_of(plain))
    return sorted(errors, key=str)


def _below(path: Path, plain: Plain) -> list[tuple[Path, Plain]]:
    """Every schema directly inside of another."""
    found = [
        (path.child("properties").key(name), each) for name, each in (plain.get("properties") or {}).items()
    ]
    for name in ("items", "additionalProperties", "not"):
        if isinstance(plain.get(name), dict):
            found.append((path.child(name), plain[name]))
    for name in ("allOf", "anyOf", "oneOf"):
        found += [(path.child(name).index(at), each) for at, each in enumerate(plain.get(name) or ())]
    return found


def _usable(path: Path, plain: Plain) -> Errors:
    errors: Errors = []
    for name in _UNSUPPORTED:
        if plain.get(name):
            errors.append(fields.forbidden(path.child(name), f"{name} is not supported"))
    if plain.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(fields.forbidden(path.child("uniqueItems"), text))
    if plain.get("additionalProperties") not in (None, True) and plain.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(fields.forbidden(path.child("additionalProperties"), text))
    if plain.get("additionalProperties") is False:
        text = "additionalProperties cannot be set to false"
        errors.append(fields.forbidden(path.child("additionalProperties"), text))
    if isinstance(plain.get("items"), list):
        text = "items must be a schema object and not an array"
        errors.append(fields.forbidden(path.child("items"), text))
    kind = plain.get("type")
    if kind and kind not in TYPES:
        errors.append(fields.not_supported(path.child("type"), kind, TYPES))
    if plain.get("pattern") and (problem := values.pattern_problem(plain["pattern"])):
        text = f"must be a valid regular expression, but isn't: {problem}"
        errors.append(fields.invalid(path.child("pattern"), plain["pattern"], text))
    errors += _list_errors(path, plain)
    for where, each in _below(path, plain):
        errors += _usable(where, each)
    return errors


def _list_errors(path: Path, plain: Plain) -> Errors:
    list_type, keys = plain.get(LIST_TYPE), plain.get(LIST_KEYS) or []
    errors: Errors = []
    if list_type is not None and plain.get("type") != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        errors.append(fields.invalid(path.child("type"), plain.get("type") or "", text))
    if list_type is not None and list_type not in ("atomic", "map", "set"):
        errors.append(fields.not_supported(path.child(LIST_TYPE), list_type, ("atomic", "map", "set")))
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(fields.invalid(path.child(LIST_TYPE), list_type, text))
    if list_type == "map":
        if not keys:
            text = "must not be empty if x-kubernetes-list-type is map"
            errors.append(fields.required(path.child(LIST_KEYS), text))
        items = plain.get("items") or {}
        for at, key in enumerate(keys):
            part = (items.get("properties") or {}).get(key)
            if part is None:
                where, text = path.child(LIST_KEYS).index(at), "entries must all be names of item properties"
                errors.append(fields.invalid(where, key, text))
            elif key not in (items.get("required") or ()) and part.get("default") is None:
                where = path.child("items", "properties").key(key).child("default")
                text = (
                    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                    "required property"
                )
                errors.append(fields.required(where, text))
    if plain.get(MAP_TYPE) is not None and plain.get("type") != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        errors.append(fields.invalid(path.child("type"), plain.get("type") or "", text))
    return errors


def _structural(path: Path, plain: Plain, level: str) -> Errors:
    errors: Errors = []
    kind = plain.get("type") or ""
    items, more = plain.get("items"), plain.get("additionalProperties")
    if kind == "array" and items is None:
        errors.append(fields.required(path.child("items"), "must be specified"))
    if isinstance(items, dict):
        errors += _structural(path.child("items"), items, ITEM)
    for name, each in (plain.get("properties") or {}).items():
        if name != "metadata" or level != ROOT:
            errors += _structural(path.child("properties").key(name), each, FIELD)
    if more is not None and level == ROOT:
        errors.append(fields.forbidden(path.child("additionalProperties"), "must not be used at the root"))
    if isinstance(more, dict):
        errors += _structural(path.child("additionalProperties"), more, FIELD)
    errors += _type_errors(path, plain, level) + _junctor_errors(path, plain)
    if plain.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if plain.get(name):
                text = "must be false if x-kubernetes-int-or-string is true"
                errors.append(fields.invalid(path.child(name), True, text))
    return errors + _head_errors(path, plain, level)


def _type_errors(path: Path, plain: Plain, level: str) -> Errors:
    kind, where = plain.get("type") or "", path.child("type")
    if plain.get(EMBEDDED) and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        return [fields.invalid(where, kind, text) if kind else fields.required(where, text)]
    if not kind and not plain.get(INT_OR_STRING) and not plain.get(PRESERVE):
        return [fields.required(where, f"must not be empty {level}")]
    if level == ROOT and kind and kind != "object":
        return [fields.invalid(where, kind, "must be object at the root")]
    return []


def _head_errors(path: Path, plain: Plain, level: str) -> Errors:
    """What the schema says of the fields that every object has."""
    errors: Errors = []
    properties = plain.get("properties") or {}
    if level != ROOT and not plain.get(EMBEDDED):
        return []
    for name in ("kind", "apiVersion"):
        part = properties.get(name)
        if part is not None and part.get("type") != "string":
            where = path.child("properties").key(name).child("type")
            errors.append(fields.invalid(where, part.get("type") or "", "must be string"))
    metadata = properties.get("metadata")
    where = path.child("properties").key("metadata")
    if metadata is not None and metadata.get("type") != "object":
        errors.append(fields.invalid(where.child("type"), metadata.get("type") or "", "must be object"))
    if metadata is not None and level == ROOT:
        restricted = set(metadata.get("properties") or ()) <= {"name", "generateName"}
        if not restricted or metadata.keys() - {"type", "properties", "description"}:
            text = (
                "must not specify anything other than name and generateName, but metadata is implicitly "
                "specified"
            )
            errors.append(fields.forbidden(where, text))
    if plain.get(EMBEDDED) and not plain.get(PRESERVE) and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(fields.required(path.child("properties"), text))
    return errors


def _junctor_errors(path: Path, plain: Plain) -> Errors:
    errors: Errors = []
    for name in ("allOf", "anyOf", "oneOf"):
        given = plain.get(name) or []
        if name == "anyOf" and plain.get(INT_OR_STRING) and given == _INT_OR_STRING_PATTERN:
            continue
        for at, each in enumerate(given):
            only = each.get("anyOf") == _INT_OR_STRING_PATTERN and bool(plain.get(INT_OR_STRING))
            if not (name == "allOf" and at == 0 and only):
                errors += _nested_errors(path.child(name).index(at), each)
    if isinstance(plain.get("not"), dict):
        errors += _nested_errors(path.child("not"), plain["not"])
    return errors


def _nested_errors(path: Path, plain: Plain) -> Errors:
    """A schema that only restricts: it may not say what a value is."""
    errors = [
        fields.forbidden(path.child(name), text) for name, text in _FORBIDDEN_BELOW.items() if plain.get(name)
    ]
    for name, each in (plain.get("properties") or {}).items():
        if name == "metadata":
            where, text = path.child("properties").key(name), "must not be specified in a nested context"
            errors.append(fields.forbidden(where, text))
        errors += _nested_errors(path.child("properties").key(name), each)
    if isinstance(plain.get("items"), dict):
        errors += _nested_errors(path.child("items"), plain["items"])
    return errors + _junctor_errors(path, plain)


def _default_errors(path: Path, plain: Plain) -> Errors:
    """Defaults must be valid and must survive pruning."""
    from podling.apiserver.customresources.structural import pruned

    errors: Errors = []
    if plain.get("default") is not None:
        where, dropped = path.child("default"), list[str]()
        pruned(plain["default"], schema_of(plain), dropped)
        if dropped:
            shown = plain["default"]
            errors.append(fields.invalid(where, shown, "must not have unknown fields: " + ", ".join(dropped)))
        errors += values.validate(plain["default"], plain, where.text)
    for where, each in _below(path, plain):
        errors += _default_errors(where, each)
    return errors
