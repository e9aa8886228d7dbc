"""CEL's macros at run time: loops over a list or a map, with a cost for each step.

Source: ``google/cel-go`` (``parser/macro.go``, ``ext/comprehensions.go``, ``ext/lists.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from podling.apiserver.cel.lists import in_order
from podling.apiserver.cel.runs import Failure, Read, Run, Scope, read_as, spend, truth


class Steps(Struct, frozen=True):
    """Yield a scope for each item that a macro visits."""

    over: Run
    variable: str
    read: Read
    weight: int
    second: str = ""
    """The variable of the items, where ``variable`` is that of their places or keys."""

    def __call__(self, scope: Scope) -> Iterable[tuple[Any, Scope]]:
        """Items (places and keys, where there are two variables), and what the body sees."""
        value = self.over(scope)
        if not isinstance(value, list | dict):
            raise Failure("no such overload")
        if self.second:
            yield from self._pairs(value, dict(scope))
            return
        inner = dict(scope)
        for each in value:
            spend(scope, self.weight + 1)
            inner[self.variable] = found = each if self.read is None else read_as(each, self.read)
            yield found, inner

    def _pairs(self, value: Any, inner: Scope) -> Iterable[tuple[Any, Scope]]:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for first, each in pairs:
            spend(inner, self.weight + 1)
            inner[self.variable] = first
            inner[self.second] = each if self.read is None else read_as(each, self.read)
            yield first, inner


def _fold_decided(steps: Steps, body: Run, ends: bool) -> Run:
    def run(scope: Scope) -> bool:
        failed: Failure | None = None
        for _, inner in steps(scope):
            try:
                if truth(body(inner)) is ends:
                    return ends
            except Failure as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not ends

    return run


def _fold_one(steps: Steps, body: Run, _condition: Run | None) -> Run:
    return lambda scope: sum(truth(body(inner)) for _, inner in steps(scope)) == 1


def _fold_filter(steps: Steps, body: Run, _condition: Run | None) -> Run:
    return lambda scope: [item for item, inner in steps(scope) if truth(body(inner))]


def _fold_map(steps: Steps, body: Run, condition: Run | None) -> Run:
    return lambda scope: [body(inner) for _, inner in _chosen(steps, condition, scope)]


def _chosen(steps: Steps, condition: Run | None, scope: Scope) -> Iterable[tuple[Any, Scope]]:
    for each, inner in steps(scope):
        if condition is None or truth(condition(inner)):
            yield each, inner


def _fold_sort(steps: Steps, body: Run, _condition: Run | None) -> Run:
    def run(scope: Scope) -> list[Any]:
        pairs = [(item, body(inner)) for item, inner in steps(scope)]
        try:
            return in_order([item for item, _ in pairs], [key for _, key in pairs])
        except ValueError as error:
            raise Failure(str(error)) from None

    return run


def _fold_pairs(steps: Steps, body: Run, condition: Run | None) -> Run:
    return lambda scope: {key: body(inner) for key, inner in _chosen(steps, condition, scope)}


def _fold_entries(steps: Steps, body: Run, condition: Run | None) -> Run:
    def run(scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _, inner in _chosen(steps, condition, scope):
            for key, value in body(inner).items():
                if key in found:
                    raise Failure(f"insert failed: key {key} already exists")
                found[key] = value
        return found

    return run


FOLDS: dict[str, Callable[[Steps, Run, Run | None], Run]] = {
    "all": lambda steps, body, _: _fold_decided(steps, body, ends=False),
    "exists": lambda steps, body, _: _fold_decided(steps, body, ends=True),
    "exists_one": _fold_one,
    "filter": _fold_filter,
    "map": _fold_map,
    "sortBy": _fold_sort,
    "transformList": _fold_map,
    "transformMap": _fold_pairs,
    "transformMapEntry": _fold_entries,
}
