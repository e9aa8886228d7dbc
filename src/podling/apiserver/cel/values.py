"""CEL's values in Python, and the type of each.

Values are plain: ``int``, ``float``, ``str``, ``bool``, ``bytes``, ``list``, ``dict``, ``None``,
``datetime``, ``timedelta``; types that Python lacks are defined here. Types as values are their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from podling.machinery.encoding.plain import equal


class Unsigned(int):
    """A number of the type ``uint``."""


class Optional(Struct, frozen=True):
    """A value that may not be there."""

    held: Any = None
    present: bool = False


class Made(dict[str, Any]):
    """A value of a type that expressions can make, which is its name."""

    __slots__ = ("type",)

    def __init__(self, type_: str) -> None:
        super().__init__()
        self.type = type_


_KINDS: dict[type[Any], str] = {
    bool: "bool", int: "int", Unsigned: "uint", float: "double", str: "string", bytes: "bytes", list: "list",
    dict: "map", datetime: "timestamp", timedelta: "duration", type(None): "null", Optional: "optional",
}  # fmt: skip


def is_of_kind(type_: type[Any], name: str) -> None:
    """Values of a class are of the type ``name``: for the types that libraries bring along."""
    _KINDS[type_] = name


def kind_of(value: Any) -> str:
    """Return the name of a value's type, as overloads have it."""
    return _KINDS.get(type(value)) or next(
        (_KINDS[base] for base in type(value).__mro__ if base in _KINDS), type(value).__name__
    )


_TYPE_VALUES = {
    "null": "null_type",
    "optional": "optional_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "object": "map",
}


def type_value(kind: str) -> str:
    """Return a type as a value, which ``type(...)`` gives: its name."""
    return _TYPE_VALUES.get(kind, kind)


def same(left: Any, right: Any) -> bool:
    """Compare as CEL does: numbers of any type, containers by their contents."""
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return equal(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


class Members:
    """Values to be found again, by ``same``: scalars at once, lists and maps one after the other."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._scalars: set[tuple[bool, Any]] = set()
        self._others: list[Any] = []
        for each in items:
            self.add(each)

    def add(self, item: Any) -> None:
        try:
            self._scalars.add((isinstance(item, bool), item))
        except TypeError:  # it can be changed, and so has no hash
            self._others.append(item)

    def __contains__(self, item: Any) -> bool:
        try:
            return (isinstance(item, bool), item) in self._scalars
        except TypeError:
            return any(same(each, item) for each in self._others)


def inside(item: Any, items: list[Any]) -> bool:
    return any(same(item, each) for each in items)


def is_container(value: Any) -> bool:
    return isinstance(value, list | dict)
