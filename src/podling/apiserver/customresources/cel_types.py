"""The types of CEL expressions, and what they are for the values that a schema describes. Pure.

Upstream: ``cel-go checker`` and ``k8s.io/apiserver/pkg/cel/common/schemas.go``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from podling.apiserver.customresources.structural import Schema

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_IDENTIFIER = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$").match


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name, with what it holds; an object's fields by the names that rules have for them.

    ``largest``: the most characters, items or entries that a value can have, as far as the schema says;
    ``least``: the fewest characters that a value takes in JSON.
    """

    name: str
    inner: tuple[Type, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict, compare=False)
    largest: int | None = field(default=None, compare=False)
    least: int = field(default=1, compare=False)

    def __str__(self) -> str:
        shown = {"optional": "optional_type", "timestamp": "timestamp", "duration": "duration"}
        name = shown.get(self.name, self.name)
        return f"{name}({', '.join(map(str, self.inner))})" if self.inner else name

    @property
    def is_parameter(self) -> bool:
        """Whether it stands for any one type in a function's signature."""
        return len(self.name) == 1


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its name in the data and its type."""

    key: str
    type: Type


DYN, BOOL, INT, STRING = Type("dyn"), Type("bool"), Type("int"), Type("string")
NULLABLE = frozenset({"object", "timestamp", "duration", "optional", "null"})
"""What may be compared with null."""
MAXIMUM = 3 * 1024 * 1024
"""A request has no more characters than this, and so no value has."""


def list_of(item: Type, largest: int | None = None) -> Type:
    return Type("list", (item,), largest=largest, least=2)


def map_of(key: Type, value: Type, largest: int | None = None) -> Type:
    return Type("map", (key, value), largest=largest, least=2)


def schema_type(schema: Schema, *, root: bool = False) -> Type | None:
    """What a rule sees of the values of ``schema``; None for values that it cannot see.

    ``root``: the schema is that of whole objects, which have a head.
    """
    if schema.int_or_string:
        return DYN
    most = schema.plain.get("maxItems")
    if schema.type == "array":
        items = schema_type(schema.items) if schema.items is not None else None
        return None if items is None else list_of(items, most)
    if schema.type == "object" or root:
        if schema.values is not None and not schema.properties:
            values = schema_type(schema.values)
            most = schema.plain.get("maxProperties")
            return None if values is None else map_of(Type("string", largest=MAXIMUM), values, most)
        return Type("object", fields=_fields(schema, head=root or schema.embedded), least=_least(schema))
    if schema.type == "string":
        return _string_type(schema)
    name = {"boolean": "bool", "integer": "int", "number": "double"}.get(schema.type)
    return Type(name, least=4 if name == "bool" else 1) if name else None


def _least(schema: Schema) -> int:
    """The fewest characters of an object: of its required fields, but for those that are filled in."""
    size = 2
    for name in schema.plain.get("required") or ():
        part = schema.properties.get(name)
        if part is not None and part.plain.get("default") is None:
            inner = schema_type(part)
            size += len(name) + 4 + (inner.least if inner is not None else 1)
    return size


def _fields(schema: Schema, *, head: bool) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for key, each in schema.properties.items():
        name, type_ = escaped(key), schema_type(each)
        if name is not None and type_ is not None:
            found[name] = Field(key, type_)
    if head:
        names = {each: Field(each, Type("string", largest=253)) for each in ("name", "generateName")}
        found["metadata"] = Field("metadata", Type("object", fields=names))
        found |= {each: Field(each, Type("string", largest=63)) for each in ("apiVersion", "kind")}
    return found


def _string_type(schema: Schema) -> Type:
    named = str(schema.plain.get("format") or "").replace("-", "")
    if named == "byte":
        return Type("bytes", largest=schema.plain.get("maxLength"), least=2)
    if named in ("date", "datetime"):
        return Type("timestamp")
    if named == "duration":
        return Type("duration")
    most = schema.plain.get("maxLength")
    if schema.plain.get("enum"):
        most = max(len(str(each)) for each in schema.plain["enum"])
    return Type("string", largest=most, least=2)


def escaped(name: str) -> str | None:
    """A field's name as rules spell it; None for one that they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    made = name.replace("__", "__underscores__").replace(".", "__dot__")
    made = made.replace("-", "__dash__").replace("/", "__slash__")
    return made if _IDENTIFIER(made) else None


Bindings = dict[str, Type]


def fits(formal: Type, actual: Type, bound: Bindings) -> bool:
    """Whether a value of ``actual`` may stand where ``formal`` is asked for; binds type parameters."""
    if formal.is_parameter:
        known = bound.get(formal.name)
        if known is None or (known.name == "dyn" and actual.name != "dyn"):
            bound[formal.name] = actual
            return True
        return fits(known, actual, bound) or fits(actual, known, bound)
    if "dyn" in (formal.name, actual.name):
        return True
    if "null" in (formal.name, actual.name) and {formal.name, actual.name} <= NULLABLE:
        return True
    if formal.name != actual.name or len(formal.inner) != len(actual.inner):
        return False
    return all(fits(*pair, bound) for pair in zip(formal.inner, actual.inner, strict=True))


def filled_in(type_: Type, bound: Bindings) -> Type:
    """A signature's type with its parameters replaced by what they stand for."""
    if type_.is_parameter:
        return bound.get(type_.name, DYN)
    return Type(type_.name, tuple(filled_in(each, bound) for each in type_.inner), type_.fields)


@lru_cache(maxsize=512)
def type_named(text: str) -> Type:
    """``list(A)``, ``map(string, int)``, ``optional(A)`` as types."""
    name, _, rest = text.strip().removesuffix(")").partition("(")
    return Type(name, tuple(map(type_named, rest.split(","))) if rest else ())
