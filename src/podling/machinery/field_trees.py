"""``fieldsV1`` of a whole new object: what its creator comes to own (server-side apply).

Everything that the object says and an empty one does not. A type is compiled once into the path element of
each field and what to do inside of it, because every created object is walked. Leaves are one shared empty
dict: objects are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from podling.machinery import codec
from podling.machinery.fieldsets import item_element, undeclared
from podling.machinery.shapes import ANYTHING, Kind, Shape, fields_of, per_type

Tree = dict[str, Any]
Make = Callable[[Any], Tree]
"""From a value to its tree; empty for one that is a leaf after all, because it is no dict or no list."""

DESCRIBED_MAX = 512
"""So many structs of schemas are kept compiled; those of types all are."""

_LEAF: Tree = {}
_ITSELF = "."
"""Marks an inner node that is owned itself."""


class _Step(NamedTuple):
    element: str
    make: Make | None
    """Looks inside; None for what is always a leaf."""
    start: Any
    """What an empty struct has here: nobody's doing. None if it has nothing."""


def maker_of(shape: Shape, *, given: bool = False) -> Make | None:
    """Makes the trees of values of ``shape``; None if they are owned as one.

    ``given``: the value is a struct that is there whether anybody speaks of it or not. What is made raises
    SchemaError for a field that the shape does not have, and for an item without its key.
    """
    if shape.atomic:
        return None
    if shape.kind is Kind.STRUCT:
        if shape.fields is not None or shape.struct is None:
            return _described(shape)
        return _given(shape.struct) if given else _absent(shape.struct)
    if shape.kind is Kind.MAP:
        return _map_maker(shape)
    if shape.kind is Kind.LIST and (shape.map_keys or shape.is_set):
        return _list_maker(shape)
    return None


@per_type
def _given(struct: type[Any]) -> Make:
    return _struct_maker(fields_of(struct), None, codec.to_plain(struct()))


@per_type
def _absent(struct: type[Any]) -> Make:
    return _struct_maker(fields_of(struct), None, {})


@lru_cache(DESCRIBED_MAX)
def _described(shape: Shape) -> Make:
    return _struct_maker(shape.fields or {}, shape.rest, {})


def _struct_maker(fields: Mapping[str, Shape], rest: Shape | None, start: Mapping[str, Any]) -> Make:
    steps: dict[str, _Step] = {}

    def step_to(name: str) -> _Step:
        # Compiled when first met: types may hold themselves.
        shape = fields.get(name, rest)
        if shape is None:
            raise undeclared((f"f:{name}",))
        step = _Step(f"f:{name}", maker_of(shape, given=name in start), start.get(name))
        if name in fields:
            steps[name] = step
        return step

    def make(value: Any) -> Tree:
        tree: Tree = {}
        for name in sorted(value) if isinstance(value, dict) else ():
            element, inside, before = steps.get(name) or step_to(name)
            item = value[name]
            if item != before:
                own = before is None
                tree[element] = _LEAF if inside is None else _below(item, inside, itself=own)
        return tree

    return make


def _map_maker(shape: Shape) -> Make:
    def make(value: Any) -> Tree:
        if not isinstance(value, dict):
            return {}
        if inside is None:
            return {f"f:{name}": _LEAF for name in sorted(value)}
        return {f"f:{name}": _below(value[name], inside, itself=True) for name in sorted(value)}

    # Data that no schema describes are maps of such maps.
    inside = make if shape.element is shape else maker_of(shape.element or ANYTHING)
    return make


def _list_maker(shape: Shape) -> Make:
    inside = maker_of(shape.element or ANYTHING)

    def make(items: Any) -> Tree:
        tree: Tree = {}
        for index, item in enumerate(items if isinstance(items, list) else ()):
            element = item_element(item, index, shape, ())
            # Two items with one key are together one leaf.
            if inside is None or element in tree:
                tree[element] = _LEAF
            else:
                tree[element] = _below(item, inside, itself=True)
        return dict(sorted(tree.items())) if len(tree) > 1 else tree

    return make


def _below(item: Any, inside: Make, *, itself: bool) -> Tree:
    tree = inside(item) if item else _LEAF
    if not tree:
        return _LEAF
    return {_ITSELF: _LEAF, **tree} if itself else tree
