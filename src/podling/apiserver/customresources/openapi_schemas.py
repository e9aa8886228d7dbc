"""Schemas of definitions in the words of the OpenAPI documents. Pure.

Version 3 has words for nearly everything. Version 2 has none for alternatives and nulls, and clients that
check objects against it (kubectl does) refuse fields that it does not name; so it says less about objects
that may have unknown fields, and never more than the server checks.

Upstream: ``apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go``, ``builder/builder.go`` and
``pkg/apiserver/schema/unfold.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podling.apiserver.customresources.structural import EMBEDDED, INT_OR_STRING, PRESERVE

Plain = Mapping[str, Any]

_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_VALUES = ("default", "example", "additionalProperties")
"""Fields of a schema that mean something also when they are false or empty."""
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION = (
    f"apiVersion defines the versioned schema of this representation of an object. More info: {_CONVENTIONS}"
    "#resources"
)
_KIND = (
    "kind is a string value representing the type of this object. In CamelCase. More info: "
    f"{_CONVENTIONS}#types-kinds"
)
_EITHER = [{"type": "integer"}, {"type": "string"}]
"""The alternatives that stand for a value that is an integer or a string."""


def v2_schema(plain: Plain, metadata: Plain) -> dict[str, Any]:
    """Return a schema in the words of version 2.

    ``metadata``: the schema of an embedded object's metadata.
    """
    made = {name: value for name, value in _said(plain).items() if name not in (*_JUNCTORS, "default")}
    nullable, preserves = made.pop("nullable", False), plain.get(PRESERVE)
    if nullable or preserves:
        made.pop("items", None)
        made.pop("properties", None)
    if nullable or (made.get("type") == "array" and "items" not in made):
        made.pop("type", None)
    if preserves and made.get("type") == "object":
        del made["type"]
    _drop_required_nulls(made)
    made = _with_parts(made, lambda part: v2_schema(part, metadata))
    return made if preserves else _embedded(made, metadata)


def v3_schema(plain: Plain, metadata: Plain) -> dict[str, Any]:
    """Return a schema in the words of version 3. ``metadata`` as for ``v2_schema``."""
    made = _said(plain)
    if plain.get(INT_OR_STRING) and not _is_unfolded(plain):
        if "anyOf" in made:
            made["allOf"] = [{"anyOf": _EITHER}, *made.get("allOf", ())]
        else:
            made["anyOf"] = _EITHER
    return _embedded(_with_parts(made, lambda part: v3_schema(part, metadata)), metadata)


def _said(plain: Plain) -> dict[str, Any]:
    """Drop the fields of a schema that are false or empty, but for values and closed maps."""
    return {name: value for name, value in plain.items() if name in _VALUES or not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value in ("", [], {})


def _with_parts(made: dict[str, Any], convert: Callable[[Plain], dict[str, Any]]) -> dict[str, Any]:
    """``made`` with the schemas inside of it converted."""
    if "properties" in made:
        made["properties"] = {name: convert(each) for name, each in made["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = convert(made[name])
    return made


def _drop_required_nulls(made: dict[str, Any]) -> None:
    """Require no field that may be null: version 2 takes null for missing."""
    properties, values = made.get("properties", {}), made.get("additionalProperties")
    required = [each for each in made.get("required", ()) if not properties.get(each, {}).get("nullable")]
    if isinstance(values, dict) and values.get("nullable"):
        required = []
    made.pop("required", None)
    if required:
        made["required"] = required


def _is_unfolded(plain: Plain) -> bool:
    """Return true if the schema of an integer or string spells out its alternatives already."""
    first: Plain = next(iter(plain.get("allOf") or ()), {})
    return _EITHER in (plain.get("anyOf"), first.get("anyOf"))


def _embedded(made: dict[str, Any], metadata: Plain) -> dict[str, Any]:
    """``made`` with the head that every object has, if it describes an object inside of another."""
    if not made.get(EMBEDDED):
        return made
    head = {
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": dict(metadata),
    }
    required = list(made.get("required", ()))
    required += [name for name in ("kind", "apiVersion") if name not in required]
    return {**made, "properties": {**made.get("properties", {}), **head}, "required": required}
