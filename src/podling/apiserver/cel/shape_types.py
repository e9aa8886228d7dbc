"""The CEL types of built-in kinds, derived from their structs. Pure.

Quantities and fields that may be a number or a text have any type. Fields are resolved at their first use:
kinds may contain themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podling.apiserver.cel.types import BOOL, DYN, INT, STRING, Field, Type, list_of, map_of
from podling.machinery.encoding.shapes import Kind, Shape, fields_of, per_type

_SCALARS = {
    Kind.STRING: STRING,
    Kind.BYTES: Type("bytes"),
    Kind.TIME: Type("timestamp"),
    Kind.INTEGER: INT,
    Kind.NUMBER: Type("double"),
    Kind.BOOLEAN: BOOL,
}


class _Fields(Mapping[str, Field]):
    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self._shapes = shapes

    def __getitem__(self, name: str) -> Field:
        return Field(name, type_of_shape(self._shapes[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


@per_type
def type_of_kind(struct: type[Any]) -> Type:
    """Return the type of the objects that ``struct`` describes."""
    return Type("object", label=struct.__name__, fields=_Fields(fields_of(struct)))


def type_of_shape(shape: Shape) -> Type:
    if shape.kind is Kind.STRUCT and shape.struct is not None:
        return type_of_kind(shape.struct)
    if shape.kind is Kind.LIST and shape.element is not None:
        return list_of(type_of_shape(shape.element))
    if shape.kind is Kind.MAP and shape.element is not None:
        return map_of(STRING, type_of_shape(shape.element))
    return _SCALARS.get(shape.kind, DYN)
