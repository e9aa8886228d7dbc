"""Filling in defaults on frozen structs, without copying what needs no change.

Two notions of *absent* exist in Kubernetes' types and both matter: a pointer is absent when it is null
(``fill_absent``), a plain value when it is empty or zero (``fill_empty``).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

from msgspec import structs

S = TypeVar("S", bound=Any)
T = TypeVar("T")


def fill_absent(obj: S, **defaults: Any) -> S:
    """``obj`` with each named field that is None set to its default."""
    missing = {name: value for name, value in defaults.items() if getattr(obj, name) is None}
    return structs.replace(obj, **missing) if missing else obj


def fill_empty(obj: S, **defaults: Any) -> S:
    """``obj`` with each named field that is None, empty or zero set to its default."""
    missing = {name: value for name, value in defaults.items() if not getattr(obj, name)}
    return structs.replace(obj, **missing) if missing else obj


def change(obj: S, **values: Any) -> S:
    """``obj`` with these values; the very same object when nothing differs by identity."""
    for name, value in values.items():
        if getattr(obj, name) is not value:
            return structs.replace(obj, **values)
    return obj


def each(items: tuple[T, ...], function: Callable[[T], T]) -> tuple[T, ...]:
    """``function`` applied to every item; the very same tuple when no item changed."""
    if not items:
        return items
    changed = tuple(map(function, items))
    return items if all(map(is_, changed, items)) else changed
