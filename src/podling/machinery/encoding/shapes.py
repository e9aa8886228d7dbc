"""Shapes of all fields, derived from the types; the codec, the patches and OpenAPI read them.

The struct types are the only schema. This module turns their annotations and marks, once per type,
into ``Shape`` values: the kind of a field's JSON value, its parts, and how it merges.
Everything that walks plain data next to a type walks these.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Struct

from podling.api import markers


class Kind(Enum):
    """The JSON value that a field holds, as the API reads it."""

    STRING = "string"
    BYTES = "bytes"
    QUANTITY = "quantity"
    TIME = "time"
    INTEGER = "integer"
    INT_OR_STRING = "int-or-string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    STRUCT = "struct"
    LIST = "list"
    MAP = "map"
    ANY = "any"


class Shape(Struct, frozen=True, eq=False):
    """One field, list item or map value."""

    kind: Kind
    struct: type[Any] | None = None
    """The type of a STRUCT."""
    element: Shape | None = None
    """The items of a LIST, the values of a MAP."""
    int32: bool = False
    """An INTEGER of 32 bits; otherwise it has 64."""
    micro: bool = False
    """A TIME with microseconds; otherwise it has whole seconds."""
    merge_key: str | None = None
    """The field of its items by which a strategic merge patch merges a LIST; empty: as a set; None: it
    replaces the list."""
    retain_keys: bool = False
    map_keys: tuple[str, ...] = ()
    """The fields that identify an item of a LIST under server-side apply; empty if there are none."""
    is_set: bool = False
    """Server-side apply treats a LIST of scalars as a set."""
    atomic: bool = False
    """Server-side apply treats a STRUCT or a MAP as one value."""
    raw: bool = False
    """A MAP that the type holds as its JSON."""
    fields: Mapping[str, Shape] | None = None
    """The fields of a STRUCT that a schema describes instead of a type."""
    rest: Shape | None = None
    """The other fields of such a STRUCT; None if there can be none."""

    def go_type(self) -> str:
        """Return the Go name of the type in error messages: ``v1.PodSpec``, ``[]v1.Container``."""
        if self.kind is Kind.STRUCT:
            return go_name(self.struct)
        if self.kind is Kind.LIST and self.element:
            return "[]" + self.element.go_type()
        if self.kind is Kind.MAP and self.element:
            return "map[string]" + self.element.go_type()
        if self.kind is Kind.INTEGER:
            return "int32" if self.int32 else "int64"
        return _GO_TYPES[self.kind]


_GO_TYPES = {
    Kind.STRING: "string",
    Kind.BYTES: "[]uint8",
    Kind.QUANTITY: "resource.Quantity",
    Kind.TIME: "v1.Time",
    Kind.INT_OR_STRING: "intstr.IntOrString",
    Kind.NUMBER: "float64",
    Kind.BOOLEAN: "bool",
    Kind.ANY: "runtime.RawExtension",
}

_SCALARS = {str: Kind.STRING, int: Kind.INTEGER, float: Kind.NUMBER, bool: Kind.BOOLEAN, datetime: Kind.TIME}

ANYTHING = Shape(Kind.ANY)


def go_name(struct: type[Any] | None) -> str:
    """``v1.PodSpec``: the version is the name of the Go package."""
    if struct is None:
        return "interface {}"
    return f"{struct.__module__.rpartition('_')[2]}.{struct.__name__}"


R = TypeVar("R")


def per_type(make: Callable[[type[Any]], R]) -> Callable[[type[Any]], R]:
    """Compute once per type and remember: types live as long as the process."""
    return cast("Callable[[type[Any]], R]", cache(make))


@per_type
def fields_of(struct: type[Any]) -> Mapping[str, Shape]:
    """Return the shape of every field of a struct, by its JSON name, in the order of the type."""
    hints = typing.get_type_hints(struct, include_extras=True)
    return {field.encode_name: _shape(hints[field.name]) for field in msgspec.structs.fields(struct)}


@per_type
def attributes_of(struct: type[Any]) -> Mapping[str, str]:
    """Return the Python attribute of every field, by its JSON name."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(struct)}


@per_type
def shape_of(struct: type[Any]) -> Shape:
    """Return a whole struct as a shape."""
    return Shape(Kind.STRUCT, struct=struct, atomic=getattr(struct, "atomic_struct", False))


def _shape(annotation: Any) -> Shape:
    marks: list[Any] = []
    plain = _unwrap(annotation, marks)
    origin = typing.get_origin(plain)
    if origin is tuple:
        return _list_shape(_shape(typing.get_args(plain)[0]), marks)
    if origin is dict:
        value = _shape(typing.get_args(plain)[1])
        return Shape(Kind.MAP, element=value, atomic=markers.ATOMIC_MAP in marks)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        atomic = getattr(plain, "atomic_struct", False) and markers.GRANULAR_MAP not in marks
        return Shape(
            Kind.STRUCT,
            struct=plain,
            atomic=atomic or markers.ATOMIC_MAP in marks,
            retain_keys=markers.RETAIN_KEYS in marks,
        )
    if plain == int | str:
        return Shape(Kind.INT_OR_STRING)
    if plain is Any:
        return ANYTHING
    if plain is msgspec.Raw:
        return Shape(Kind.MAP, element=ANYTHING, raw=True)
    return _scalar_shape(plain, marks)


def _unwrap(annotation: Any, marks: list[Any]) -> Any:
    """Return the type itself, without ``None`` and ``Annotated``; what was annotated goes into ``marks``."""
    while True:
        origin = typing.get_origin(annotation)
        if origin is Annotated:
            marks += annotation.__metadata__
            annotation = annotation.__origin__
        elif origin in (types.UnionType, typing.Union) and type(None) in typing.get_args(annotation):
            rest = [part for part in typing.get_args(annotation) if part is not type(None)]
            annotation = typing.Union[tuple(rest)]  # noqa: UP007 (the parts are only known at run time)
        else:
            return annotation


def _list_shape(element: Shape, marks: list[Any]) -> Shape:
    merge_key: str | None = None
    map_keys: tuple[str, ...] = ()
    for mark in marks:
        if isinstance(mark, markers.MergeKey):
            merge_key = mark.key
        elif isinstance(mark, markers.ListMap):
            map_keys = mark.keys
    return Shape(
        Kind.LIST,
        element=element,
        merge_key=merge_key,
        map_keys=map_keys,
        is_set=markers.LIST_SET in marks,
        retain_keys=markers.RETAIN_KEYS in marks,
    )


def _scalar_shape(plain: Any, marks: list[Any]) -> Shape:
    kind = _SCALARS[plain]
    if markers.QUANTITY in marks:
        kind = Kind.QUANTITY
    elif markers.BYTES in marks:
        kind = Kind.BYTES
    return Shape(kind, int32=markers.INT32 in marks, micro=markers.MICRO_TIME in marks)
