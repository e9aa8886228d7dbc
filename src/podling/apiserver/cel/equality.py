"""Equality of values whose type needs more than a comparison of their parts.

Lists that a schema declares as sets or maps are equal in any order; so are objects with such lists. Texts for
times, durations or bytes are equal when their values are. Pure.
Source: ``k8s.io/apiserver/pkg/cel/common/values.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.apiserver.cel.readers import reader
from podling.apiserver.cel.types import Type
from podling.apiserver.cel.values import Members, same

Equal = Callable[[Any, Any], bool]


def equality(type_: Type) -> Equal:
    """Return the comparison of two values, of which the first has this type."""
    if not _is_special(type_):
        return same
    match type_.name:
        case "list":
            return _lists(type_)
        case "map":
            return _maps(equality(type_.inner[1]))
        case "object":
            return _objects(type_)
        case "optional":
            within = equality(type_.inner[0])
            return lambda a, b: a.present == b.present and (not a.present or within(a.held, b.held))
    read = reader(type_)
    assert read is not None
    return lambda a, b: same(read(a), read(b))


def _is_special(type_: Type, above: tuple[int, ...] = ()) -> bool:
    """``above``: the fields of the objects that this is in, which may contain themselves."""
    if type_.list_type or type_.name in ("timestamp", "duration", "bytes"):
        return True
    if any(_is_special(each, above) for each in type_.inner):
        return True
    if not type_.fields or id(type_.fields) in above:
        return False
    within = (*above, id(type_.fields))
    return any(_is_special(each.type, within) for each in type_.fields.values())


def _lists(type_: Type) -> Equal:
    inner = equality(type_.inner[0])

    def ordered(left: Any, right: Any) -> bool:
        return len(left) == len(right) and all(map(inner, left, right))

    def sets(left: Any, right: Any) -> bool:
        if len(left) != len(right):
            return False
        if inner is same:
            known = Members(left)
            return all(each in known for each in right)
        return all(any(inner(own, each) for own in left) for each in right)

    def maps(left: Any, right: Any) -> bool:
        known = {key_of(each, type_.keys): each for each in left}
        return len(left) == len(right) and all(
            (key := key_of(each, type_.keys)) in known and inner(known[key], each) for each in right
        )

    return {"set": sets, "map": maps}.get(type_.list_type, ordered)


def _maps(inner: Equal) -> Equal:
    return lambda left, right: (
        left.keys() == right.keys() and all(inner(each, right[key]) for key, each in left.items())
    )


def _objects(type_: Type) -> Equal:
    types = {each.key: each.type for each in type_.fields.values()}
    known: dict[str, Equal] = {}

    def of_field(key: str) -> Equal:
        if key not in known:  # when it is first compared: types may contain themselves
            known[key] = equality(types[key]) if key in types else same
        return known[key]

    def run(left: Any, right: Any) -> bool:
        if not isinstance(left, dict) or not isinstance(right, dict):
            return same(left, right)
        return left.keys() == right.keys() and all(
            of_field(key)(each, right[key]) for key, each in left.items()
        )

    return run


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the key of an item in a list of the type ``map``."""
    return tuple(item.get(each) for each in keys) if isinstance(item, dict) else (item,)


def added(type_: Type) -> Callable[[Any, Any], list[Any]]:
    """``left + right`` for lists of this type: of sets the union; of maps what is left with, in the same
    places, what is right under the same keys, and then the rest of what is right."""
    if type_.list_type == "set":
        equal = equality(type_.inner[0])
        return lambda left, right: _union(left, right, equal)
    if type_.list_type == "map":
        return lambda left, right: list(
            ({key_of(each, type_.keys): each for each in (*left, *right)}).values()
        )
    return lambda left, right: left + right


def _union(left: list[Any], right: list[Any], equal: Equal) -> list[Any]:
    found, known = list(left), Members(left)
    for each in right:
        if each in known if equal is same else any(equal(own, each) for own in found):
            continue
        known.add(each)
        found.append(each)
    return found
