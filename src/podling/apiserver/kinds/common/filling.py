"""Functions that set defaults in frozen structs, and copy only what changes.

Kubernetes' types have two notions of *absent*: a pointer is absent when it is null, a plain value when it is
empty or zero. ``fill_absent`` decides by the type of each field; ``fill_empty`` fills every empty field.
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
def _absent_by_field(type_: type[Any]) -> Mapping[str, Any]:
    """Return the absent value of each scalar field that has one."""
    return {
        each.name: each.default
        for each in structs.fields(type_)
        if isinstance(each.default, str | int | float)
    }


def fill_absent(obj: S, **defaults: Any) -> S:
    """Return ``obj`` with each named field set to its default if it is absent.

    None is absent, and so is the zero of a field that Kubernetes holds by value and omits while it is empty:
    ``replicas: 0`` stays, an empty ``restartPolicy`` is filled.
    """
    missing = {
        name: value
        for name, value in defaults.items()
        if not (found := getattr(obj, name))
        and (found is None or found == _absent_by_field(type(obj)).get(name))
    }
    return structs.replace(obj, **missing) if missing else obj


def fill_empty(obj: S, **defaults: Any) -> S:
    """Return ``obj`` with each named field set to its default if it is None, empty or zero."""
    missing = {name: value for name, value in defaults.items() if not getattr(obj, name)}
    return structs.replace(obj, **missing) if missing else obj


def change(obj: S, **values: Any) -> S:
    """Return ``obj`` with these values; the identical object when all values are identical."""
    for name, value in values.items():
        if getattr(obj, name) is not value:
            return structs.replace(obj, **values)
    return obj


def map_items(items: tuple[T, ...], function: Callable[[T], T]) -> tuple[T, ...]:
    """Return the results of ``function`` for every item; the identical tuple when no item changed."""
    if not items:
        return items
    changed = tuple(map(function, items))
    return items if all(map(is_, changed, items)) else changed
