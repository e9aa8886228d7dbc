"""The trees of CEL expressions. Pure.

Macros are nodes of their own here. Every node knows where it is in the text, as cel-go counts it: an operator
at its sign, a call at its parenthesis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

DEPTH_MAX = 250
"""The maximum depth of expressions (cel-go's limit)."""
_FLAT = frozenset({"_&&_", "_||_", "!_", "-_"})
"""Operators that do not count as nesting."""


class Literal(Struct, frozen=True):
    value: Any
    type: str
    at: int


class Name(Struct, frozen=True):
    name: str
    at: int


class Select(Struct, frozen=True):
    """``operand.field``; as the argument of ``has`` only tested for presence."""

    operand: Node
    field: str
    at: int
    optional: bool = False
    asked: bool = False


class Index(Struct, frozen=True):
    operand: Node
    key: Node
    at: int
    optional: bool = False


class Call(Struct, frozen=True):
    """A function, a method (with a target) or an operator (named ``_+_``)."""

    function: str
    target: Node | None
    arguments: tuple[Node, ...]
    at: int


class ListOf(Struct, frozen=True):
    """``optional``: where the items are that are optionals, left out if they hold nothing (``[?a]``)."""

    items: tuple[Node, ...]
    at: int
    optional: frozenset[int] = frozenset()


class MapOf(Struct, frozen=True):
    entries: tuple[tuple[Node, Node], ...]
    at: int
    optional: frozenset[int] = frozenset()
    """As for lists: ``{?'a': b}``."""


class Make(Struct, frozen=True):
    """``Object.spec{replicas: 3}``: a value of a named type. Fields: name, value, and whether the value is an
    optional, without which the field is not there (``?replicas:``)."""

    type: str
    fields: tuple[tuple[str, Node, bool], ...]
    at: int


class Fold(Struct, frozen=True):
    """A macro that goes over a list or a map: ``all``, ``exists``, ``exists_one``, ``map``, ``filter``,
    ``sortBy``, ``transformList``, ``transformMap``, ``transformMapEntry``; or over what an optional may hold:
    ``optMap``, ``optFlatMap``."""

    kind: str
    over: Node
    variable: str
    condition: Node | None
    """The filter, in macros that have one."""
    body: Node
    at: int
    second: str = ""
    """The variable of the items where the first is that of their places, or of their keys."""


Node = Literal | Name | Select | Index | Call | ListOf | MapOf | Make | Fold


def too_deep(tree: Node) -> bool:
    """Return whether too much is nested, as cel-go counts it: what is logical is not, nor lists and maps."""
    left: list[tuple[Node, int]] = [(tree, 0)]
    while left:
        node, depth = left.pop()
        if isinstance(node, Select | Index | Fold) or (isinstance(node, Call) and _is_nesting(node)):
            depth += 1
            if depth > DEPTH_MAX:
                return True
        left += [(each, depth) for each in _within(node)]
    return False


def _is_nesting(call: Call) -> bool:
    operator = call.function.startswith(("_", "@", "!", "-")) and call.function not in _FLAT
    return operator or call.target is not None


def _within(node: Node) -> Iterator[Node]:
    """Return the children of a node."""
    match node:
        case Select(operand=operand):
            yield operand
        case Index(operand=operand, key=key):
            yield from (operand, key)
        case Call(target=target, arguments=arguments):
            yield from arguments if target is None else (target, *arguments)
        case ListOf(items=items):
            yield from items
        case MapOf(entries=entries):
            for entry in entries:
                yield from entry
        case Make(fields=fields):
            yield from (value for _, value, _ in fields)
        case Fold(over=over, condition=condition, body=body):
            yield from (over, body) if condition is None else (over, condition, body)
