"""Validation of applied values against their schema, with the messages of server-side apply. Pure.

An applied configuration is checked before it is merged:
numbers, strings and booleans where the
schema has them, maps and lists where it has those, no unknown field, and no item of a keyed list without its
key or with another item's. Values that the schema leaves open (quantities, times, numbers that may be names)
are checked later, when the merged object is decoded.

Source of the rules and words: ``structured-merge-diff/typed`` and ``kube-openapi/pkg/schemaconv``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from podling.machinery.encoding.plain import go_text, json_type
from podling.machinery.encoding.shapes import ANYTHING, Kind, Shape
from podling.machinery.patches.fieldsets import ItemError, element_of, shapes_of, text_of

_GO_TYPES = {"array": "[]interface {}", "object": "map[string]interface {}"}
_OPEN = (Kind.TIME, Kind.QUANTITY)
"""Any scalar is valid."""


def mistakes(value: Any, shape: Shape) -> str:
    """Return the errors of ``value``: one line, or a list of them; empty if it is valid."""
    found = [f"{path}: {what}" if path else what for path, what in _wrong(value, shape, "")]
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found]) if found else ""


def _wrong(value: Any, shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    if value is None or shape.element is shape:
        return  # null fits everywhere; data without a schema are what they are
    if shape.kind is Kind.STRUCT or shape.kind is Kind.MAP:
        if isinstance(value, dict):
            yield from _in_map(value, shape, path)
        else:
            yield path, f"expected map, got &{{{go_text(value)}}}"
    elif shape.kind is Kind.LIST:
        if isinstance(value, list):
            yield from _in_list(value, shape, path)
        else:
            yield path, f"expected list, got &{{{go_text(value)}}}"
    elif what := _wrong_scalar(value, shape.kind):
        yield path, what


def _in_map(value: dict[str, Any], shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    shape_of = shapes_of(shape)
    for name in sorted(value):
        inner = shape_of(name)
        if inner is None:
            yield f"{path}.{name}", "field not declared in schema"
            return  # nothing more is said of a map with such a field
        yield from _wrong(value[name], inner, f"{path}.{name}")


def _in_list(items: list[Any], shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    element, seen = shape.element or ANYTHING, set[str]()
    keyed = bool(shape.map_keys) or shape.is_set
    for index, item in enumerate(items):
        step = f"[{index}]"
        if keyed:
            try:
                found = element_of(item, shape)
            except ItemError as error:
                yield path, f"element {index}: {error}"
                return
            step = text_of((found,))
            if found in seen:
                yield path, f"duplicate entries for key {step}"
            seen.add(found)
        yield from _wrong(item, element, path + step)


def _wrong_scalar(value: Any, kind: Kind) -> str:
    match kind:
        case Kind.INTEGER | Kind.NUMBER if json_type(value) != "number":
            return f"expected numeric (int or float), got {_go_type(value)}"
        case Kind.STRING | Kind.BYTES if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        case Kind.BOOLEAN if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
        case _ if kind in _OPEN and isinstance(value, dict | list):
            return f"expected any scalar, got &{{{go_text(value)}}}"
    return ""


def _go_type(value: Any) -> str:
    found = json_type(value)
    return _GO_TYPES.get(found, found)


def _go_syntax(value: Any) -> str:
    """Format a value as Go's ``%#v``."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "interface {}(nil)" if value is None else go_text(value)
