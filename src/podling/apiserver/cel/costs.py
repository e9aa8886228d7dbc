"""The maximum cost of a CEL expression, in cel-go's units, estimated from types before it is run.

As in ``cel-go checker/cost.go``, and ``k8s.io/apiserver/pkg/cel/library/cost.go`` for the functions of
Kubernetes: it decides which rules a definition may have. Where cel-go knows no limit at all, there is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from podling.apiserver.cel.types import Type
from podling.apiserver.cel.values import is_container

CEILING = 2**62
TRAVERSING = frozenset({
    "_==_", "_!=_", "_+_", "@in", "contains", "distinct", "endsWith", "find", "findAll", "flatten", "format",
    "indexOf", "isSorted", "join", "lastIndexOf", "lowerAscii", "matches", "max", "min", "replace", "reverse",
    "sets.contains", "sets.equivalent", "sets.intersects", "slice", "sort", "split", "startsWith", "sum",
    "trim", "upperAscii", "validate",
})  # fmt: skip
"""Functions whose work grows with their arguments, which they pay for as they are called."""
_TRAVERSED, _PATTERN = 0.1, 0.25
"""The cost of a character: of a text, and of a pattern."""
_ADDRESS = 16
_FORMAT_PATTERN = 128
"""The lengths of the patterns of named formats."""


def plus(*costs: int) -> int:
    return min(sum(costs), CEILING)


REQUEST = 3 * 1024 * 1024


def largest(type_: Type) -> int:
    """Return the most characters or items of a value of this type that fit into a request."""
    if type_.largest is not None:
        return type_.largest
    if type_.name == "list":
        return (REQUEST - 2) // (type_.inner[0].least + 1)
    if type_.name == "map":
        return (REQUEST - 2) // (type_.inner[1].least + 6)
    return REQUEST - 2 if type_.name in ("string", "bytes", "dyn") else 1


def repeated(least: int) -> int:
    """Return the most occurrences in a request of a value with so many characters."""
    return REQUEST // (least + 1)


class Work(Struct, frozen=True):
    """The cost of a call without its arguments, and the size of its result, if known."""

    cost: int = 1
    size: int | None = None


def _share(size: int, cost: float = _TRAVERSED) -> int:
    return math.ceil(size * cost)


def _replaced(text: int, old: int, new: int) -> int:
    """Return the size of a text after replacements; ``old``: what is known to be replaced each time."""
    if old == 0:
        return (text + 1) * new + text
    return text if new <= old else math.ceil(text / old) * new


def call_work(name: str, types: Sequence[Type], values: Sequence[Any]) -> Work:
    """``values``: what the arguments are, None for those that are not written out."""
    sizes = [min(largest(each), CEILING) for each in types]
    match name, sizes:
        case ("_==_" | "_!=_", [one, other]):
            return Work(_share(min(one, other)))
        case ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) if types[0].name in ("string", "bytes"):
            return Work(_share(min(one, other)))
        case ("startsWith" | "endsWith", [_, size]):
            return Work(_share(size))
        case ("@in", [_, size]) if types[1].name != "map":
            return Work(size)
        case ("matches" | "find" | "findAll", [text, pattern, *_]):
            return Work(_share(text + 1) * _share(pattern, _PATTERN), text)
        case ("contains", [text, part]):
            return Work(_share(text) * _share(part))
        case ("_+_", [one, other]) if types[0].name in ("string", "bytes", "list"):
            return Work(1 if types[0].name == "list" else _share(one + other), one + other)
        case ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", [size, *_]):
            return Work(_compared(types[0], size))
        case ("lowerAscii" | "upperAscii" | "substring" | "trim" | "url", [text, *_]):
            return Work(_share(text), text)
        case ("replace", [text, _, new, *_]):
            known = len(values[1]) if isinstance(values[1], str) else 0
            return Work(_share(text, 2 * _TRAVERSED), _replaced(text, known, new))
        case ("split", [text, _, *limit]):
            parts = values[2] if limit and isinstance(values[2], int) and values[2] >= 0 else text
            return Work(_share(text, 2 * _TRAVERSED), parts)
        case ("join", [items, *between]):
            size = items * largest(types[0].inner[0]) if types[0].inner else 0
            size += sum(between) * max(items - 1, 0)
            return Work(_share(size), size)
        case ("bytes" | "string", [text]) if types[0].name in ("string", "bytes"):
            return Work(1 if types[0].name == name else _share(text), text * (4 if name == "bytes" else 1))
        case ("containsIP", [_, other]):
            return Work(_share(2 * _ADDRESS) + (_share(other) if types[1].name == "string" else 0))
        case ("containsCIDR", [_, other]):
            parsed = _share(other) if types[1].name == "string" else 0
            return Work(_share(2 * _ADDRESS) + _share(_ADDRESS) + 1 + parsed)
        case ("validate", [_, text]):
            return Work(math.ceil(_share(text) * _FORMAT_PATTERN * _PATTERN))
        case (name, _) if name in _WHOLE:
            return Work(max(1, int(sum(each for each in sizes) * _TRAVERSED)))
    return Work()


def _compared(type_: Type, size: int) -> int:
    """Return the cost of comparing all items of a list with each other, or of scanning a text."""
    if type_.name != "list":
        return _share(size)
    item = type_.inner[0]
    return size * (1 + (_share(largest(item)) if item.name in ("string", "bytes") else 0))


_WHOLE = frozenset({
    "distinct", "flatten", "reverse", "sets.contains", "sets.equivalent", "sets.intersects", "slice", "sort",
})  # fmt: skip
"""Functions whose work grows with their arguments in other ways."""
_STEPS = {
    "all": (3, 1), "exists": (4, 1), "exists_one": (2, 2), "filter": (13, 11), "map": (12, 11),
    "transformList": (12, 11), "transformMap": (3, 31), "transformMapEntry": (2, 31),
}  # fmt: skip
"""The costs of macros themselves: per step, and in total."""


def fold_cost(kind: str, size: int, body: int, condition: int) -> int:
    each, once = _STEPS.get(kind, (2, 0))
    return min(once + size * (each + body + condition), CEILING)


def effort(name: str, values: list[Any]) -> int:
    """Return the cost to charge before a call that creates or compares large values."""
    if name == "lists.range":
        return max(0, int(values[0]))
    if name == "@in":
        return len(values[1]) if isinstance(values[1], list) else 0
    if name == "join":
        return sum(len(each) for each in values[0] if isinstance(each, str)) // 10
    if name == "replace":
        text, old, new = values[:3]
        return int(text.count(old) * len(new) // 10)
    if name in ("distinct", "sets.contains", "sets.equivalent", "sets.intersects"):
        first, last = (sum(map(is_container, each)) for each in (values[0], values[-1]))
        return first * last
    return 0


LABORIOUS = frozenset({
    "@in", "distinct", "join", "lists.range", "replace",
    "sets.contains", "sets.equivalent", "sets.intersects",
})  # fmt: skip
