"""Depth of expressions as cel-go counts it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podling.apiserver.cel.trees import (
    DEPTH_MAX,
    Call,
    Fold,
    Index,
    ListOf,
    Literal,
    Make,
    MapOf,
    Name,
    Node,
    Select,
    too_deep,
)

ONE, X = Literal(1, "int", 0), Name("x", 0)
Wrap = Callable[[Node], Node]
NESTING: dict[str, Wrap] = {
    "selection": lambda node: Select(node, "f", 0),
    "index": lambda node: Index(node, ONE, 0),
    "key": lambda node: Index(X, node, 0),
    "method": lambda node: Call("f", node, (), 0),
    "argument of a method": lambda node: Call("f", X, (node,), 0),
    "sum": lambda node: Call("_+_", None, (ONE, node), 0),
    "range of a macro": lambda node: Fold("map", node, "x", None, X, 0),
    "body of a macro": lambda node: Fold("map", X, "x", None, node, 0),
    "filter of a macro": lambda node: Fold("map", X, "x", node, X, 0),
}
FLAT: dict[str, Wrap] = {
    "and": lambda node: Call("_&&_", None, (X, node), 0),
    "or": lambda node: Call("_||_", None, (node, X), 0),
    "not": lambda node: Call("!_", None, (node,), 0),
    "negative": lambda node: Call("-_", None, (node,), 0),
    "function": lambda node: Call("size", None, (node,), 0),
    "list": lambda node: ListOf((ONE, node), 0),
    "map": lambda node: MapOf(((ONE, node),), 0),
    "message": lambda node: Make("T", (("f", node, False),), 0),
}


def nested(wrap: Wrap, count: int) -> Node:
    node: Node = X
    for _ in range(count):
        node = wrap(node)
    return node


@pytest.mark.parametrize("wrap", NESTING.values(), ids=NESTING.keys())
def test_nested_part_adds_to_the_depth(wrap: Wrap) -> None:
    assert not too_deep(nested(wrap, DEPTH_MAX))
    assert too_deep(nested(wrap, DEPTH_MAX + 1))


@pytest.mark.parametrize("wrap", FLAT.values(), ids=FLAT.keys())
def test_flat_part_adds_no_depth_but_is_searched(wrap: Wrap) -> None:
    assert not too_deep(nested(wrap, 2 * DEPTH_MAX))
    assert too_deep(wrap(nested(NESTING["selection"], DEPTH_MAX + 1)))
