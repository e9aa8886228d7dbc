"""Validation of a schema's keywords, beside those of structural schemas. Pure.

Upstream: ``ValidateCustomResourceDefinitionOpenAPISchema`` in
``apiextensions-apiserver/pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from podling.apiserver.customresources.rule_validation import RuleCosts, RulePlace, plain_errors
from podling.apiserver.customresources.structural import (
    EMBEDDED,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    RULES,
    Schema,
)
from podling.machinery import fields
from podling.machinery.encoding.custom import HEAD
from podling.machinery.fields import FieldError, Path

Errors = list[FieldError]
Plain = Mapping[str, Any]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


class SchemaWalk:
    """One schema being looked at; ``rules``: whether its rules make sense yet."""

    def __init__(self, *, rules: bool) -> None:
        self._rules = rules
        self._costs = RuleCosts()

    def errors(self, path: Path, plain: Plain) -> Errors:
        """Return the errors anywhere in the schema of whole objects, then those of its rules."""
        place = RulePlace(path, root=True)
        wrong, of_rules = self._at(place, plain, Schema(plain) if self._rules else None)
        return wrong + of_rules

    def total_errors(self, path: Path) -> Errors:
        """Return the errors of all rules together."""
        return self._costs.errors(path)

    def _at(self, place: RulePlace, plain: Plain, schema: Schema | None) -> tuple[Errors, Errors]:
        """``schema``: what rules here would be about; None where there can be none."""
        path = place.path
        wrong = _own_errors(path, plain, place)
        of_rules: Errors = []
        for inside, each, below in self._below(place, plain, schema):
            found, more = self._at(inside, each, below)
            wrong += found
            of_rules += more
        wrong += _extension_errors(path, plain)
        for at, rule in enumerate(plain.get(RULES) or ()):
            wrong += plain_errors(path.child(RULES).index(at), rule, plain)
        if not wrong and schema is not None and plain.get(RULES):
            of_rules += self._costs.rule_errors(place, schema)
        return wrong, of_rules

    def _below(
        self, place: RulePlace, plain: Plain, schema: Schema | None
    ) -> list[tuple[RulePlace, Plain, Schema | None]]:
        """Return the schemas inside of one, in the order in which Kubernetes looks at them."""
        found: list[tuple[RulePlace, Plain, Schema | None]] = []
        path, more, items = place.path, plain.get("additionalProperties"), plain.get("items")
        if isinstance(more, dict):
            inside = place.below(path.child("additionalProperties"), schema)
            if place.in_head:
                why = "inside additionalProperties applying to object metadata"
                inside = replace(inside, no_defaults=why)
            found.append((inside, more, schema.values if schema else None))
        for name, each in (plain.get("properties") or {}).items():
            inside = place.below(path.child("properties").key(name), schema)
            if (place.root or plain.get(EMBEDDED)) and name in HEAD:
                why = f"in top-level {name}" if place.root else inside.no_defaults
                inside = replace(inside, in_head=True, no_defaults=why)
            found.append((inside, each, schema.properties.get(name) if schema else None))
        if isinstance(plain.get("not"), dict):
            found.append((place.below(path.child("not"), None), plain["not"], None))
        for name in ("allOf", "oneOf", "anyOf"):
            for at, each in enumerate(plain.get(name) or ()):
                found.append((place.below(path.child(name).index(at), None), each, None))
        if isinstance(items, dict):
            inside = place.below(path.child("items"), schema)
            if plain.get(LIST_TYPE) != "map" and inside.uncorrelatable is None:
                inside = replace(inside, uncorrelatable=path)
            found.append((inside, items, schema.items if schema else None))
        return found


def _own_errors(path: Path, plain: Plain, place: RulePlace) -> Errors:
    errors: Errors = []
    kind, more = plain.get("type"), plain.get("additionalProperties")
    if kind and kind not in TYPES:
        errors.append(fields.not_supported(path.child("type"), kind, TYPES))
    if plain.get("default") is not None and place.no_defaults:
        errors.append(fields.forbidden(path.child("default"), f"must not be set {place.no_defaults}"))
    for name in _UNSUPPORTED:
        if plain.get(name):
            errors.append(fields.forbidden(path.child(name), f"{name} is not supported"))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        errors.append(fields.forbidden(path.child("type"), text))
    if isinstance(plain.get("items"), list):
        text = "items must be a schema object and not an array"
        errors.append(fields.forbidden(path.child("items"), text))
    if place.in_head and plain.get(EMBEDDED):
        errors.append(fields.forbidden(path.child(EMBEDDED), "must not be used inside of resource meta"))
    if plain.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(fields.forbidden(path.child("uniqueItems"), text))
    if more not in (None, True) and plain.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(fields.forbidden(path.child("additionalProperties"), text))
    return errors


def _extension_errors(path: Path, plain: Plain) -> Errors:
    errors: Errors = []
    kind, list_type, map_type = plain.get("type") or "", plain.get(LIST_TYPE), plain.get(MAP_TYPE)
    if plain.get(PRESERVE) is False:
        errors.append(fields.invalid(path.child(PRESERVE), False, "must be true or undefined"))
    if map_type is not None:
        errors += _type_must_be(path, kind, "object", MAP_TYPE)
        if map_type not in ("atomic", "granular"):
            errors.append(fields.not_supported(path.child(MAP_TYPE), map_type, ("atomic", "granular")))
    if list_type is not None:
        wrong = _type_must_be(path, kind, "array", LIST_TYPE)
        errors += wrong or (_set_errors(path, plain["items"]) if _is_set(plain) else [])
        if list_type not in ("atomic", "set", "map"):
            errors.append(fields.not_supported(path.child(LIST_TYPE), list_type, ("atomic", "set", "map")))
    if plain.get(LIST_KEYS) and list_type != "map":
        where, text = path.child(LIST_TYPE), "must be map if x-kubernetes-list-map-keys is non-empty"
        missing = list_type is None
        errors.append(fields.required(where, text) if missing else fields.invalid(where, list_type, text))
    if list_type == "map":
        errors += _map_errors(path, plain)
    return errors + (_item_errors(path, plain) if list_type in ("set", "map") else [])


def _type_must_be(path: Path, kind: str, wanted: str, why: str) -> Errors:
    if kind == wanted:
        return []
    where, text = path.child("type"), f"must be {wanted} if {why} is specified"
    return [fields.invalid(where, kind, text) if kind else fields.required(where, text)]


def _is_set(plain: Plain) -> bool:
    return plain.get(LIST_TYPE) == "set" and isinstance(plain.get("items"), dict)


def _set_errors(path: Path, items: Plain) -> Errors:
    """The items of a set are compared as a whole, so their parts have no owners of their own."""
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    own = items.get(LIST_TYPE)
    if items.get("type") == "array" and own not in (None, "atomic"):
        return [fields.invalid(path.child("items", LIST_TYPE), own, text)]
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        return [fields.invalid(path.child("items", MAP_TYPE), own, text)]
    return []


def _map_errors(path: Path, plain: Plain) -> Errors:
    errors: Errors = []
    keys, items = plain.get(LIST_KEYS) or [], plain.get("items")
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        errors.append(fields.required(path.child(LIST_KEYS), text))
    if items is None:
        text = "must have a schema if x-kubernetes-list-type is map"
        errors.append(fields.required(path.child("items"), text))
    if not isinstance(items, dict):
        return errors
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, fields.invalid(path.child("items", "type"), items.get("type") or "", text)]
    properties = items.get("properties") or {}
    for at, key in enumerate(keys):
        if key not in properties:
            text = "entries must all be names of item properties"
            errors.append(fields.invalid(path.child(LIST_KEYS), list(keys), text))
        elif properties[key].get("type") in ("array", "object"):
            where = path.child("items", "properties").key(key).child("type")
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(fields.invalid(where, "object", text))
        if key in keys[:at]:
            text = "must not contain duplicate entries"
            errors.append(fields.invalid(path.child(LIST_KEYS), list(keys), text))
    return errors


def _item_errors(path: Path, plain: Plain) -> Errors:
    """Return the errors of keywords that identify the items of a set or a map."""
    errors: Errors = []
    items, list_type = plain.get("items"), plain[LIST_TYPE]
    if not isinstance(items, dict):
        return errors
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(fields.forbidden(path.child("items", "nullable"), text))
    for key in (plain.get(LIST_KEYS) or ()) if list_type == "map" else ():
        part = (items.get("properties") or {}).get(key)
        if part is None:
            continue
        where, why = (
            path.child("items", "properties").key(key),
            "this property is in x-kubernetes-list-map-keys",
        )
        if key not in (items.get("required") or ()) and part.get("default") is None:
            text = f"{why}, so it must have a default or be a required property"
            errors.append(fields.required(where.child("default"), text))
        if part.get("nullable"):
            errors.append(fields.forbidden(where.child("nullable"), f"{why}, so it cannot be nullable"))
    return errors
