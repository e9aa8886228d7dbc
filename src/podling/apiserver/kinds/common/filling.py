"""Filling in defaults on frozen structs, without copying what needs no change.

Two notions of *absent* exist in Kubernetes' types and both matter: a pointer is absent when it is null, a
plain value when it is empty or zero. ``fill_absent`` goes by the type of each field; ``fill_empty`` fills
whatever is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, TypeVar

from msgspec import structs

from podling.machinery.encoding.shapes import per_type

S = TypeVar("S", bound=Any)
T = TypeVar("T")


@per_type
def _absent(type_: type[Any]) -> Mapping[str, Any]:
    """The scalar that says nothing in each field that has one."""
    return {
        each.name: each.default
        for each in structs.fields(type_)
        if isinstance(each.default, str | int | float)
    }


def fill_absent(obj: S, **defaults: Any) -> S:
    """``obj`` with each named field that says nothing set to its default.

    None says nothing, and so does the zero of a field that Kubernetes holds by value and omits while it is
    empty: ``replicas: 0`` stays, an empty ``restartPolicy`` is filled.
    """
    missing = {
        name: value
        for name, value in defaults.items()
        if not (found := getattr(obj, name)) and (found is None or found == _absent(type(obj)).get(name))
    }
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
