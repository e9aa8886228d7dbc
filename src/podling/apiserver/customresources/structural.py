"""Structural schemas: what a definition says about its objects, in the form that everything here walks.

A structural schema says of every field once what it is (its type, its fields, whether unknown ones are
kept); what it says beyond that restricts values and never adds fields. So one walk over schema and data
side by side is all that pruning, defaulting, validation and server-side apply need.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from podling.machinery.encoding.custom import DEDUCED, HEAD
from podling.machinery.encoding.shapes import Kind, Shape

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"


class Default(Struct, frozen=True, eq=False):
    """A default: its value, its size in bytes of JSON, and whether null may stand in its place."""

    value: Any
    size: int
    nullable: bool


@dataclass(frozen=True, eq=False)
class Schema:
    """One node: ``plain`` is the schema as the definition has it (``JSONSchemaProps``), the rest its meaning.

    The nodes below are made when something looks at them: a definition may have 100,000, and most objects
    use few.
    """

    plain: Mapping[str, Any]

    @cached_property
    def properties(self) -> Mapping[str, Schema]:
        return {name: Schema(each) for name, each in (self.plain.get("properties") or {}).items()}

    @cached_property
    def items(self) -> Schema | None:
        return _below(self.plain.get("items"))

    @cached_property
    def values(self) -> Schema | None:
        """The schema of a map's values, from ``additionalProperties``."""
        return _below(self.plain.get("additionalProperties"))

    @property
    def any_values(self) -> bool:
        """``additionalProperties: true``."""
        return self.plain.get("additionalProperties") is True

    @property
    def type(self) -> str:
        found: str = self.plain.get("type") or ""
        return found

    @property
    def preserves(self) -> bool:
        return bool(self.plain.get(PRESERVE))

    @property
    def embedded(self) -> bool:
        return bool(self.plain.get(EMBEDDED))

    @property
    def int_or_string(self) -> bool:
        return bool(self.plain.get(INT_OR_STRING))

    @property
    def nullable(self) -> bool:
        return bool(self.plain.get("nullable"))

    def part(self, name: str) -> Schema | None:
        """Return the schema of a field; None for one that is not described."""
        return self.properties.get(name, self.values)

    @cached_property
    def defaults(self) -> tuple[tuple[str, Default], ...]:
        """The fields that have a default, and the default."""
        found = ((name, each.default) for name, each in self.properties.items())
        return tuple((name, default) for name, default in found if default is not None)

    @cached_property
    def default(self) -> Default | None:
        """The value that takes the place of a missing one."""
        value = self.plain.get("default")
        return None if value is None else Default(value, len(msgspec.json.encode(value)), self.nullable)

    @cached_property
    def shape(self) -> Shape:
        """The node as server-side apply sees it."""
        return _shape(self)


def _below(plain: Any) -> Schema | None:
    return Schema(plain) if isinstance(plain, dict) else None


def _shape(schema: Schema) -> Shape:
    if schema.type == "array" and schema.items is not None:
        list_type = schema.plain.get(LIST_TYPE)
        keys = tuple(schema.plain.get(LIST_KEYS) or ()) if list_type == "map" else ()
        return Shape(Kind.LIST, element=schema.items.shape, map_keys=keys, is_set=list_type == "set")
    if schema.int_or_string or schema.type not in ("object", ""):
        return Shape(_scalar_kind(schema))
    atomic = schema.plain.get(MAP_TYPE) == "atomic"
    if schema.values is not None and not schema.properties:
        return Shape(Kind.MAP, element=schema.values.shape, atomic=atomic)
    if not schema.properties and (schema.preserves or schema.any_values):
        return Shape(Kind.MAP, element=DEDUCED, atomic=atomic)
    fields = {name: each.shape for name, each in schema.properties.items()}
    if schema.embedded:
        fields = dict.fromkeys(HEAD, DEDUCED) | fields
    rest = DEDUCED if schema.preserves or schema.any_values else None
    return Shape(Kind.STRUCT, fields=fields, rest=rest, atomic=atomic)


def _scalar_kind(schema: Schema) -> Kind:
    """Return the kind of a value for server-side apply: only validation checks formats."""
    if schema.int_or_string:
        return Kind.ANY
    if schema.type == "string" and schema.plain.get("format", "") not in ("", "byte"):
        return Kind.QUANTITY
    return _SCALARS.get(schema.type, Kind.ANY)


_SCALARS = {
    "string": Kind.STRING,
    "integer": Kind.INTEGER,
    "number": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
}
