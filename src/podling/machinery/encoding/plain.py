"""Plain data: what JSON knows. Copying it, comparing it, and naming it in messages."""

from __future__ import annotations

from typing import Any

_JSON_TYPES: dict[type[Any], str] = {str: "string", list: "array", dict: "object"}


def copied(plain: Any) -> Any:
    """Return a deep copy."""
    if isinstance(plain, dict):
        return {key: copied(value) for key, value in plain.items()}
    return [copied(item) for item in plain] if isinstance(plain, list) else plain


def without_nulls(plain: Any) -> Any:
    """Return a deep copy without the fields that are null."""
    if isinstance(plain, dict):
        return {key: without_nulls(value) for key, value in plain.items() if value is not None}
    return [without_nulls(item) for item in plain] if isinstance(plain, list) else plain


def equal(left: Any, right: Any) -> bool:
    """Deep equality, where true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def json_type(value: Any) -> str:
    """Return Go's name of a JSON value's type, as its error messages use it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return _JSON_TYPES.get(type(value), "null")


def go_text(value: Any) -> str:
    """Format a value as Go's ``%v``: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
