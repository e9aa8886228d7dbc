"""What evaluating a CEL expression costs at most, in cel-go's units: estimated from types before it is run.

Estimates stay at or below those of ``cel-go checker/cost.go``: what Kubernetes accepts is never refused here.
"""

from __future__ import annotations

from typing import Any

from podling.apiserver.cel.types import Type
from podling.apiserver.cel.values import is_container

CEILING = 2**62
TRAVERSING = frozenset({
    "_==_", "_!=_", "_+_", "@in", "contains", "distinct", "endsWith", "find", "findAll", "flatten", "format",
    "indexOf", "isSorted", "join", "lastIndexOf", "lowerAscii", "matches", "max", "min", "replace", "reverse",
    "sets.contains", "sets.equivalent", "sets.intersects", "slice", "sort", "split", "startsWith", "sum",
    "trim", "upperAscii", "validate",
})  # fmt: skip
"""Functions whose work grows with their arguments."""


def plus(*costs: int) -> int:
    return min(sum(costs), CEILING)


REQUEST = 3 * 1024 * 1024


def largest(type_: Type) -> int:
    """The most characters or items of a value of this type, when a request has room for no more."""
    if type_.largest is not None:
        return type_.largest
    if type_.name == "list":
        return (REQUEST - 2) // (type_.inner[0].least + 1)
    if type_.name == "map":
        return (REQUEST - 2) // (type_.inner[1].least + 6)
    return REQUEST - 2 if type_.name in ("string", "bytes", "dyn") else 1


def call_cost(name: str, types: list[Type]) -> int:
    """What a call costs beside its arguments (``checker/cost.go``); never more than cel-go would say."""
    if name not in TRAVERSING:
        return 1
    sizes = [largest(each) if each.name in ("string", "bytes", "list", "map") else 1 for each in types]
    if name == "matches" or name.startswith("find"):
        return max(1, int(sizes[0] * 0.1) * max(1, int(sizes[-1] * 0.25)))
    if name == "contains":
        return max(1, int(sizes[0] * 0.1) * max(1, int(sizes[1] * 0.1)))
    if name in ("_==_", "_!=_", "startsWith", "endsWith"):
        return max(1, int(min(sizes) * 0.1))
    if name == "@in":
        return max(1, sizes[-1])
    return max(1, int(sum(sizes) * 0.1))


def effort(name: str, values: list[Any]) -> int:
    """What a call is to pay for before it is made, because it makes or compares so much."""
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
