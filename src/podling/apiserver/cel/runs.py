"""The run time of compiled CEL expressions: a closure for each kind of node.

Every step of a macro and every traversal of a text or list is charged to the scope's budget, so that no
expression can run for ever. Upstream: ``cel-go`` ``interpreter``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.apiserver.cel.costs import LABORIOUS, TRAVERSING, effort
from podling.apiserver.cel.functions import Overload
from podling.apiserver.cel.trees import Call, Fold, Index, ListOf, Make, MapOf, Select
from podling.apiserver.cel.values import Made, Optional, kind_of, type_value

Scope = dict[str, Any]
Run = Callable[[Scope], Any]
Read = Callable[[Any], Any] | None

BUDGET = "@budget"
"""The scope's key of its remaining budget: a list of one number."""


class Failure(Exception):
    """An expression that cannot be evaluated for these values; the text says why."""


class OverBudget(Exception):
    """Evaluating an expression costs more than it may. No operator absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class TrialBudget(list[int]):
    """A small budget for a first evaluation on the event loop, as long as a short piece of a request.

    To exceed it says nothing about an expression: it is evaluated again with its whole budget, in a thread.
    """


def read_as(value: Any, read: Read) -> Any:
    if read is None:
        return value
    try:
        return read(value)
    except ValueError as error:
        raise Failure(str(error)) from None


_ABSENT = object()


def field(operand: Run, key: str, read: Read, *, of_object: bool) -> Run:
    """Return a field; of an object one that is null counts as not there."""

    def run(scope: Scope) -> Any:
        value = operand(scope)
        if not isinstance(value, dict):
            raise Failure("no such overload")
        found = value[key] if key in value else _ABSENT  # noqa: SIM401 some are created at their first use
        if found is _ABSENT or (found is None and of_object):
            raise Failure(f"no such key: {key}")
        return found if read is None else read_as(found, read)

    return run


def presence(operand: Run, key: str, *, of_object: bool) -> Run:
    def run(scope: Scope) -> bool:
        return _looked_up(operand(scope), key, of_object) is not _ABSENT

    return run


def maybe(operand: Run, key: str, read: Read, *, of_object: bool) -> Run:
    def run(scope: Scope) -> Optional:
        found = _looked_up(operand(scope), key, of_object)
        return Optional() if found is _ABSENT else Optional(read_as(found, read), True)

    return run


def _looked_up(value: Any, key: str, of_object: bool) -> Any:
    if isinstance(value, Optional):
        value = value.held
    found = value[key] if isinstance(value, dict) and key in value else _ABSENT
    return _ABSENT if found is None and of_object else found


def item(operand: Run, key: Run, read: Read) -> Run:
    def run(scope: Scope) -> Any:
        value, at = operand(scope), key(scope)
        if isinstance(value, dict):
            if at not in value:
                raise Failure(f"no such key: {at}")
        elif not isinstance(value, list) or isinstance(at, bool) or not isinstance(at, int):
            raise Failure("no such overload")
        elif not 0 <= at < len(value):
            raise Failure(f"index out of bounds: {at}")
        return read_as(value[at], read)

    return run


def maybe_item(operand: Run, key: Run, read: Read) -> Run:
    def run(scope: Scope) -> Optional:
        value, at = operand(scope), key(scope)
        if isinstance(value, Optional):
            value = value.held
        if isinstance(value, list):
            return Optional(read_as(value[at], read), True) if 0 <= at < len(value) else Optional()
        there = isinstance(value, dict) and at in value
        return Optional(read_as(value[at], read), True) if there else Optional()

    return run


def making(type_: str, fields: list[tuple[str, Run, bool]]) -> Run:
    """``fields``: name, value, and whether the value is an optional."""

    def run(scope: Scope) -> Made:
        made = Made(type_)
        for name, value, optional in fields:
            found = value(scope)
            if not optional:
                made[name] = found
            elif found.present:
                made[name] = found.held
        return made

    return run


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Failure("no such overload")
    return value


def negated(operand: Run) -> Run:
    return lambda scope: not truth(operand(scope))


def both(left: Run, right: Run) -> Run:
    return _decided(left, right, ends=False)


def either(left: Run, right: Run) -> Run:
    return _decided(left, right, ends=True)


def _decided(left: Run, right: Run, *, ends: bool) -> Run:
    """``&&`` (ends with false) and ``||`` (with true): what decides does so even if the other side fails."""

    def run(scope: Scope) -> bool:
        try:
            if truth(left(scope)) is ends:
                return ends
        except Failure:
            if truth(right(scope)) is ends:
                return ends
            raise
        return truth(right(scope))

    return run


def choice(condition: Run, yes: Run, no: Run) -> Run:
    return lambda scope: yes(scope) if truth(condition(scope)) else no(scope)


def listed(parts: list[Run], optional: frozenset[int]) -> Run:
    if not optional:
        return lambda scope: [part(scope) for part in parts]

    def run(scope: Scope) -> list[Any]:
        found: list[Any] = []
        for at, part in enumerate(parts):
            value = part(scope)
            found += ([value.held] if value.present else []) if at in optional else [value]
        return found

    return run


def mapped(parts: list[tuple[Run, Run]], optional: frozenset[int]) -> Run:
    def run(scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for at, (key, part) in enumerate(parts):
            name, value = key(scope), part(scope)
            if name in found:
                raise Failure(f"Failed with repeated key: {name}")
            if at not in optional:
                found[name] = value
            elif value.present:
                found[name] = value.held
        return found

    return run


def optional_map(over: Run, variable: str, body: Run, *, flat: bool) -> Run:
    """``optMap``, and ``optFlatMap`` whose body makes an optional itself."""

    def run(scope: Scope) -> Any:
        found = over(scope)
        if not isinstance(found, Optional):
            raise Failure("no such overload")
        if not found.present:
            return Optional()
        made = body({**scope, variable: found.held})
        return made if flat else Optional(made, True)

    return run


def called(name: str, found: list[Overload], arguments: list[Run]) -> Run:
    only = found[0].run if len(found) == 1 else None
    traversing, laborious = name in TRAVERSING, name in LABORIOUS

    def run(scope: Scope) -> Any:
        values = [argument(scope) for argument in arguments]
        if traversing:
            spend(scope, 1 + _size(*values) // 10)
        if laborious:
            spend(scope, effort(name, values))
        function = only or _dispatched(found, values)
        try:
            return function(*values)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, StopIteration) as error:
            text = "no such overload" if isinstance(error, TypeError | AttributeError) else str(error)
            raise Failure(text) from None

    return run


def _dispatched(found: list[Overload], values: list[Any]) -> Callable[..., Any]:
    """Return the overload for values whose types were not known before."""
    kinds = [kind_of(each) for each in values]
    for overload in found:
        wanted = [each.name for each in overload.arguments]
        if all(len(name) == 1 or name in (kind, "dyn") for name, kind in zip(wanted, kinds, strict=True)):
            return overload.run
    raise Failure("no such overload")


def type_of(operand: Run, known: str) -> Run:
    """Return the type of a value: the one that is known, or what it turns out to be."""

    def run(scope: Scope) -> str:
        value = operand(scope)
        return type_value(kind_of(value) if known == "dyn" or value is None else known)

    return run


def compared(equal: Callable[[Any, Any], bool], left: Run, right: Run, *, negated: bool) -> Run:
    """Equality by what the left side is a value of."""

    def run(scope: Scope) -> bool:
        one, other = left(scope), right(scope)
        spend(scope, 1 + _size(one, other) // 10)
        try:
            return equal(one, other) is not negated if type(one) is type(other) else negated
        except ValueError as error:
            raise Failure(str(error)) from None

    return run


def contained(equal: Callable[[Any, Any], bool], item: Run, items: Run) -> Run:
    def run(scope: Scope) -> bool:
        what, where = item(scope), items(scope)
        if not isinstance(where, list):
            raise Failure("no such overload")
        spend(scope, 1 + len(where))
        return any(equal(each, what) for each in where)

    return run


def joined(add: Callable[[Any, Any], list[Any]], left: Run, right: Run) -> Run:
    def run(scope: Scope) -> list[Any]:
        one, other = left(scope), right(scope)
        spend(scope, 1 + _size(one, other) // 10)
        return add(one, other)

    return run


def _size(*values: Any) -> int:
    return sum(len(each) for each in values if isinstance(each, str | list | dict))


def spend(scope: Scope, cost: int) -> None:
    budget = scope[BUDGET]
    budget[0] -= cost
    if budget[0] < 0:
        raise OverBudget


def nodes(node: Any) -> int:
    """Return the number of nodes evaluated in one step of a macro; inner macros are charged separately."""
    match node:
        case Select(operand=operand):
            return 1 + nodes(operand)
        case Index(operand=operand, key=key):
            return 1 + nodes(operand) + nodes(key)
        case Call(target=target, arguments=arguments):
            return 1 + nodes(target) + sum(map(nodes, arguments))
        case Fold(over=over):
            return 1 + nodes(over)
        case ListOf(items=items):
            return 1 + sum(map(nodes, items))
        case MapOf(entries=entries):
            return 1 + sum(nodes(key) + nodes(value) for key, value in entries)
        case Make(fields=fields):
            return 1 + sum(nodes(value) for _, value, _ in fields)
        case None:
            return 0
        case _:
            return 1
