"""Structural schemas: what a definition says about its objects, in the form that everything here walks.

A structural schema says of every field once what it is (its type, its fields, whether unknown ones are
kept); what it says beyond that restricts values and never adds fields. So one walk over schema and data
side by side is all that pruning, defaulting, validation and server-side apply need.

Upstream: ``apiextensions-apiserver/pkg/apiserver/schema``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from podling.api.meta_v1 import ObjectMeta
from podling.machinery.custom import DEDUCED, HEAD
from podling.machinery.plain import copied
from podling.machinery.shapes import Kind, Shape, fields_of

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"


@dataclass(frozen=True, eq=False)
class Schema:
    """One node: ``plain`` is the schema as the definition has it, the rest what it means."""

    plain: Mapping[str, Any]
    properties: Mapping[str, Schema] = field(default_factory=dict)
    items: Schema | None = None
    values: Schema | None = None
    """What ``additionalProperties`` says of a map's values."""
    any_values: bool = False
    """``additionalProperties: true``."""

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
        """The schema of a field; None for one that is not described."""
        return self.properties.get(name, self.values)

    @cached_property
    def shape(self) -> Shape:
        """The node as server-side apply sees it."""
        return _shape(self)


def schema_of(plain: Mapping[str, Any]) -> Schema:
    """The tree of a schema in plain data (``JSONSchemaProps``)."""
    more = plain.get("additionalProperties")
    items = plain.get("items")
    return Schema(
        plain,
        {name: schema_of(each) for name, each in (plain.get("properties") or {}).items()},
        schema_of(items) if isinstance(items, dict) else None,
        schema_of(more) if isinstance(more, dict) else None,
        more is True,
    )


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
    """What server-side apply asks of a value: texts of a format are looked at by validation alone."""
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


def pruned(
    value: Any, schema: Schema | None, dropped: list[str], path: str = "", *, root: bool = False
) -> Any:
    """``value`` without what the schema does not have; ``dropped`` gets the paths of what went.

    ``root``: the value is an object of the API, whose head is kept whatever the schema says.
    """
    if isinstance(value, dict):
        return {
            name: item
            for name, item in (
                (
                    name,
                    _pruned_field(name, item, schema, dropped, f"{path}.{name}" if path else name, root=root),
                )
                for name, item in value.items()
            )
            if item is not _GONE
        }
    if isinstance(value, list):
        items = None if schema is None else schema.items
        if schema is not None and schema.preserves and items is None:
            return value
        return [
            pruned(item, items, dropped, f"{path}[{index}]", root=items is not None and items.embedded)
            for index, item in enumerate(value)
        ]
    return value


_GONE: Any = object()


def _pruned_field(
    name: str, item: Any, schema: Schema | None, dropped: list[str], path: str, *, root: bool
) -> Any:
    if root and name in HEAD:
        embedded = path != name and name == "metadata" and isinstance(item, dict)
        return _pruned_metadata(item, dropped, path) if embedded else item
    if schema is not None:
        part = schema.properties.get(name)
        if part is None and (schema.values is not None or schema.any_values):
            part = schema.values
        elif part is None and schema.preserves:
            return item
        elif part is None:
            dropped.append(path)
            return _GONE
        return pruned(item, part, dropped, path, root=part is not None and part.embedded)
    dropped.append(path)
    return _GONE


def _pruned_metadata(item: dict[str, Any], dropped: list[str], path: str) -> dict[str, Any]:
    """The metadata of an object inside of another, which no schema can widen."""
    known = fields_of(ObjectMeta)
    dropped += [f"{path}.{name}" for name in item if name not in known]
    return {name: value for name, value in item.items() if name in known}


def defaulted(value: Any, schema: Schema) -> Any:
    """``value`` with the defaults of what is not there, and without nulls that may not be.

    Changes ``value`` in place: it must be the caller's own.
    """
    if isinstance(value, dict):
        for name, part in schema.properties.items():
            default = part.plain.get("default")
            missing = name not in value or (value[name] is None and not part.nullable)
            if missing and default is not None:
                value[name] = copied(default)
        for name in list(value):
            inner = schema.part(name)
            if inner is None:
                continue
            if value[name] is None and not inner.nullable:
                default = inner.plain.get("default")
                if default is None:
                    if inner.type or inner.int_or_string:
                        del value[name]
                    continue
                value[name] = copied(default)
            value[name] = defaulted(value[name], inner)
    elif isinstance(value, list) and schema.items is not None:
        items, default = schema.items, schema.items.plain.get("default")
        for index, item in enumerate(value):
            if item is None and not items.nullable and default is not None:
                value[index] = copied(default)
            value[index] = defaulted(value[index], items)
    return value


@dataclass(frozen=True, eq=False)
class RootSchema:
    """The schema of whole objects: ``machinery.custom.ObjectSchema``."""

    root: Schema

    @property
    def shape(self) -> Shape:
        return self.root.shape

    def unknown_fields(self, plain: dict[str, Any]) -> list[str]:
        dropped: list[str] = []
        pruned(plain, self.root, dropped, root=True)
        return dropped

    def completed(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content of an object as it is kept: pruned and defaulted. Shares nothing with ``content``."""
        kept: dict[str, Any] = defaulted(copied(pruned(content, self.root, [], root=True)), self.root)
        for name in HEAD:
            kept.pop(name, None)
        return kept
