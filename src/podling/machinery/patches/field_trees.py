"""``fieldsV1`` of a whole new object: what its creator comes to own (server-side apply).

Everything that the object says and an empty one does not. Because every created object is walked, what
follows from a type and from which fields are there is worked out once. Leaves are one shared empty dict, and
trees may be shared, too: objects are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from podling.machinery.encoding import codec
from podling.machinery.encoding.shapes import ANYTHING, Kind, Shape, fields_of, per_type
from podling.machinery.patches.fieldsets import item_element, undeclared

Tree = dict[str, Any]
Make = Callable[[Any], Tree]
"""From a value to its tree; empty for one that is a leaf after all, because it is no dict or no list."""

DESCRIBED_MAX = 512
"""So many structs of schemas are kept compiled; those of types all are."""
PLANS_MAX = 256
"""For so many sets of fields that a struct comes with, what follows from them is kept."""

_LEAF: Tree = {}
_NOTHING: Any = object()
_ITSELF = "."
"""Marks an inner node that is owned itself."""


class _Step(NamedTuple):
    """A field that is not just a leaf."""

    name: str
    element: str
    make: Make | None
    """Looks inside; None for what is always a leaf."""
    start: Any
    """The field's value in an empty struct, which no manager owns; ``_NOTHING`` if it is absent there."""


class _Plan(NamedTuple):
    """The tree that all structs with the same fields share, in order, and the places of differences."""

    tree: Tree
    steps: tuple[_Step, ...]


def maker_of(shape: Shape, *, given: bool = False) -> Make | None:
    """Makes the trees of values of ``shape``; None if they are owned as one.

    ``given``: the value is a struct that is present even if the writer does not name it. The function raises
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
    # Compiled when first met: types may hold themselves.
    plans: dict[tuple[str, ...], _Plan] = {}

    def step_to(name: str) -> _Step:
        shape = fields.get(name, rest)
        if shape is None:
            raise undeclared((f"f:{name}",))
        before = start.get(name, _NOTHING)
        given = before is not _NOTHING and before is not None
        return _Step(name, f"f:{name}", maker_of(shape, given=given), before)

    def plan_of(names: tuple[str, ...]) -> _Plan:
        steps = [step_to(name) for name in sorted(names)]
        tree = dict.fromkeys((step.element for step in steps), _LEAF)
        differing = (step for step in steps if step.make is not None or step.start is not _NOTHING)
        plan = _Plan(tree, tuple(differing))
        if rest is None and len(plans) < PLANS_MAX:
            plans[names] = plan
        return plan

    def make(value: Any) -> Tree:
        if not isinstance(value, dict):
            return {}
        names = tuple(value)
        common, steps = plans.get(names) or plan_of(names)
        if not steps:
            return common
        tree = common.copy()
        for name, element, inside, before in steps:
            item = value[name]
            if item == before:
                del tree[element]
            elif inside is not None:
                tree[element] = _below(item, inside, itself=before is _NOTHING or before is None)
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
