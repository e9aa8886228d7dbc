"""The CEL types of the values that a schema describes. Pure.

Upstream: ``k8s.io/apiserver/pkg/cel/common/schemas.go``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from podling.apiserver.cel.types import DYN, Field, Type, list_of, map_of
from podling.apiserver.customresources.structural import LIST_KEYS, LIST_TYPE, Schema

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_IDENTIFIER = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$").match


def schema_type(schema: Schema, *, label: str = "object", root: bool = False) -> Type | None:
    """Return the CEL type of the values of ``schema``; None for values that rules cannot read.

    ``label``: the name of a type of objects in messages; those below it are named by their path.
    ``root``: the schema is that of whole objects, with type and metadata.
    """
    if schema.int_or_string:
        return DYN
    most = schema.plain.get("maxItems")
    if schema.type == "array":
        items = schema_type(schema.items, label=f"{label}.@idx") if schema.items is not None else None
        return None if items is None else _list_type(schema, items, most)
    if schema.type == "object" or root:
        if schema.values is not None and not schema.properties:
            values = schema_type(schema.values, label=f"{label}.@elem")
            most = schema.plain.get("maxProperties")
            return None if values is None else map_of(Type("string", largest=0), values, most)
        fields = _fields(schema, label, head=root or schema.embedded)
        return Type("object", label=label, fields=fields, largest=0, least=_least(schema))
    if schema.type == "string":
        return _string_type(schema)
    name = {"boolean": "bool", "integer": "int", "number": "double"}.get(schema.type)
    return Type(name, largest=0, least=4 if name == "bool" else 1) if name else None


def _list_type(schema: Schema, items: Type, most: int | None) -> Type:
    list_type = schema.plain.get(LIST_TYPE) or ""
    keys = tuple(schema.plain.get(LIST_KEYS) or ())
    return replace(
        list_of(items, most), list_type=list_type if list_type in ("set", "map") else "", keys=keys
    )


def _least(schema: Schema) -> int:
    """Return the fewest characters of an object: of its required fields, but for those that are filled in."""
    size = 2
    for name in schema.plain.get("required") or ():
        part = schema.properties.get(name)
        if part is not None and part.plain.get("default") is None:
            inner = schema_type(part)
            size += len(name) + 4 + (inner.least if inner is not None else 1)
    return size


def _fields(schema: Schema, label: str, *, head: bool) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for key, each in schema.properties.items():
        name, type_ = escaped(key), schema_type(each, label=f"{label}.{key}")
        if name is not None and type_ is not None:
            found[name] = Field(key, type_)
            if key in _RESERVED:
                found[key] = found[name]
    if head:
        names = {each: Field(each, Type("string", largest=253)) for each in ("name", "generateName")}
        found["metadata"] = Field("metadata", Type("object", label=f"{label}.metadata", fields=names))
        found |= {each: Field(each, Type("string", largest=63)) for each in ("apiVersion", "kind")}
    return found


def _string_type(schema: Schema) -> Type:
    """Sizes are in bytes, of which a character may have four; those of what is compared otherwise are as
    Kubernetes guesses them."""
    named = str(schema.plain.get("format") or "").replace("-", "")
    most = schema.plain.get("maxLength")
    if named == "byte":
        return Type("bytes", largest=most, least=2)
    if named == "date":
        return Type("timestamp", largest=12, least=12)
    if named == "datetime":
        return Type("timestamp", largest=32, least=21)
    if named == "duration":
        return Type("duration", largest=32, least=3)
    if most is not None:
        most *= 4
    elif schema.plain.get("enum"):
        most = max(len(str(each)) for each in schema.plain["enum"])
    return Type("string", largest=most, least=2)


def escaped(name: str) -> str | None:
    """Return a field's name as rules spell it; None for one that they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    made = name.replace("__", "__underscores__").replace(".", "__dot__")
    made = made.replace("-", "__dash__").replace("/", "__slash__")
    return made if _IDENTIFIER(made) else None
