"""The types of expressions, and when a value of one may stand for another. Pure.

Upstream: ``cel-go`` ``checker``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name, with what it holds; an object's fields by the names that rules have for them.

    ``label`` is what an object's type is called: objects of other names are of other types. ``list_type`` and
    ``keys`` say what makes lists equal, as ``x-kubernetes-list-type`` does (empty: one item after the other).
    ``largest``: the most characters, items or entries that a value can have, as far as the schema says;
    ``least``: the fewest characters that a value takes in JSON.
    """

    name: str
    inner: tuple[Type, ...] = ()
    label: str = ""
    fields: Mapping[str, Field] = field(default_factory=dict, compare=False)
    list_type: str = field(default="", compare=False)
    keys: tuple[str, ...] = field(default=(), compare=False)
    largest: int | None = field(default=None, compare=False)
    least: int = field(default=1, compare=False)

    def __str__(self) -> str:
        name = self.label or ("optional_type" if self.name == "optional" else self.name)
        return f"{name}({', '.join(map(str, self.inner))})" if self.inner else name

    @property
    def is_parameter(self) -> bool:
        """True if it stands for any one type in a function's signature."""
        return len(self.name) == 1


class Field(Struct, frozen=True):
    """A field of an object: its name in the data and its type."""

    key: str
    type: Type


DYN, BOOL, INT, STRING = Type("dyn"), Type("bool"), Type("int"), Type("string")
_NEVER_NULL = frozenset({
    "bool", "bytes", "double", "int", "list", "map", "string", "type", "uint",
})  # fmt: skip
"""Types that cannot be compared with null."""


def list_of(item: Type, largest: int | None = None) -> Type:
    return Type("list", (item,), largest=largest, least=2)


def map_of(key: Type, value: Type, largest: int | None = None) -> Type:
    return Type("map", (key, value), largest=largest, least=2)


Bindings = dict[str, Type]


def fits(formal: Type, actual: Type, bound: Bindings) -> bool:
    """Return whether a value of ``actual`` is assignable to ``formal``; binds type parameters."""
    if formal.is_parameter:
        known = bound.get(formal.name)
        if known is None or (known.name == "dyn" and actual.name != "dyn"):
            bound[formal.name] = actual
            return True
        return fits(known, actual, bound) or fits(actual, known, bound)
    if "dyn" in (formal.name, actual.name):
        return True
    if "null" in (formal.name, actual.name) and not {formal.name, actual.name} & _NEVER_NULL:
        return True
    if (formal.name, formal.label, len(formal.inner)) != (actual.name, actual.label, len(actual.inner)):
        return False
    return all(fits(*pair, bound) for pair in zip(formal.inner, actual.inner, strict=True))


def filled_in(type_: Type, bound: Bindings) -> Type:
    """Return a signature's type with its parameters replaced by what they stand for."""
    if type_.is_parameter:
        return bound.get(type_.name, DYN)
    return replace(type_, inner=tuple(filled_in(each, bound) for each in type_.inner))


@lru_cache(maxsize=512)
def type_named(text: str) -> Type:
    """``list(A)``, ``map(string, int)``, ``optional(A)`` as types."""
    name, _, rest = text.strip().removesuffix(")").partition("(")
    return Type(name, tuple(map(type_named, rest.split(","))) if rest else ())
