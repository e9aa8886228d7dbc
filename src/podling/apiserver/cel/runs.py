"""What compiled CEL expressions do when they run: a closure for each kind of node.

Every step of a macro and every traversal of a text or list is paid for from the scope's budget, so that no
expression can run for ever. Upstream: ``cel-go`` ``interpreter``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from podling.apiserver.cel.functions import Optional, Overload, duration, timestamp
from podling.apiserver.cel.syntax import Bind, Call, Fold, Index, ListOf, MapOf, Select
from podling.apiserver.cel.types import Type

Scope = dict[str, Any]
Run = Callable[[Scope], Any]
Read = Callable[[Any], Any] | None

BUDGET = "@budget"
"""Where a scope has what is left to spend: a list of one number."""


class Failure(Exception):
    """An expression that cannot be evaluated for these values; the text says why."""


class OverBudget(Exception):
    """Evaluating an expression costs more than it may. No operator absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def reader(type_: Type) -> Read:
    """How plain data becomes a value of this type, if it is not that already."""
    return _READERS.get(type_.name)


_READERS: dict[str, Callable[[Any], Any]] = {
    "timestamp": lambda value: timestamp(value) if isinstance(value, str) else value,
    "duration": lambda value: duration(value) if isinstance(value, str) else value,
    "bytes": lambda value: base64.b64decode(value) if isinstance(value, str) else value,
    "double": lambda value: float(value) if isinstance(value, int) else value,
}


def _read(value: Any, read: Read) -> Any:
    if read is None:
        return value
    try:
        return read(value)
    except ValueError as error:
        raise Failure(str(error)) from None


def field(operand: Run, key: str, read: Read) -> Run:
    def run(scope: Scope) -> Any:
        value = operand(scope)
        if not isinstance(value, dict):
            raise Failure("no such overload")
        if key not in value:
            raise Failure(f"no such key: {key}")
        return value[key] if read is None else _read(value[key], read)

    return run


def presence(operand: Run, key: str) -> Run:
    def run(scope: Scope) -> bool:
        value = operand(scope)
        if isinstance(value, Optional):
            value = value.held
        return isinstance(value, dict) and key in value

    return run


def maybe(operand: Run, key: str, read: Read) -> Run:
    def run(scope: Scope) -> Optional:
        value = operand(scope)
        if isinstance(value, Optional):
            value = value.held
        there = isinstance(value, dict) and key in value
        return Optional(_read(value[key], read), True) if there else Optional()

    return run


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
        return _read(value[at], read)

    return run


def maybe_item(operand: Run, key: Run, read: Read) -> Run:
    def run(scope: Scope) -> Optional:
        value, at = operand(scope), key(scope)
        if isinstance(value, Optional):
            value = value.held
        if isinstance(value, list):
            return Optional(_read(value[at], read), True) if 0 <= at < len(value) else Optional()
        there = isinstance(value, dict) and at in value
        return Optional(_read(value[at], read), True) if there else Optional()

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


def binding(variable: str, value: Run, body: Run) -> Run:
    return lambda scope: body({**scope, variable: value(scope)})


HELD = "@held"
"""Where a scope has what an optional holds."""


def optional_map(over: Run, body: Run, *, flat: bool) -> Run:
    """``optMap``, and ``optFlatMap`` whose body makes an optional itself."""

    def run(scope: Scope) -> Any:
        found: Optional = over(scope)
        if not found.present:
            return Optional()
        made = body({**scope, HELD: found.held})
        return made if flat else Optional(made, True)

    return run


_KINDS = {bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes", list: "list", dict: "map"}


def kind_name(value: Any) -> str:
    """The name of a value's type, as overloads have it."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return "timestamp"
    if isinstance(value, timedelta):
        return "duration"
    if isinstance(value, Optional):
        return "optional"
    return _KINDS.get(type(value), type(value).__name__.lower())


def called(found: list[Overload], arguments: list[Run], *, traversing: bool) -> Run:
    only = found[0].run if len(found) == 1 else None

    def run(scope: Scope) -> Any:
        values = [argument(scope) for argument in arguments]
        if traversing:
            spend(scope, 1 + sum(len(each) for each in values if isinstance(each, str | list | dict)) // 10)
        function = only or _dispatched(found, values)
        try:
            return function(*values)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, StopIteration) as error:
            text = "no such overload" if isinstance(error, TypeError | AttributeError) else str(error)
            raise Failure(text) from None

    return run


def _dispatched(found: list[Overload], values: list[Any]) -> Callable[..., Any]:
    """The overload for values whose types were not known before."""
    kinds = [kind_name(each) for each in values]
    for overload in found:
        wanted = [each.name for each in overload.arguments]
        if all(len(name) == 1 or name in (kind, "dyn") for name, kind in zip(wanted, kinds, strict=True)):
            return overload.run
    raise Failure("no such overload")


def spend(scope: Scope, cost: int) -> None:
    budget = scope[BUDGET]
    budget[0] -= cost
    if budget[0] < 0:
        raise OverBudget


def nodes(node: Any) -> int:
    """How many nodes are evaluated in one step of a macro; macros inside pay for themselves."""
    match node:
        case Select(operand=operand):
            return 1 + nodes(operand)
        case Index(operand=operand, key=key):
            return 1 + nodes(operand) + nodes(key)
        case Call(target=target, arguments=arguments):
            return 1 + nodes(target) + sum(map(nodes, arguments))
        case Fold(over=over):
            return 1 + nodes(over)
        case Bind(value=value, body=body):
            return 1 + nodes(value) + nodes(body)
        case ListOf(items=items):
            return 1 + sum(map(nodes, items))
        case MapOf(entries=entries):
            return 1 + sum(nodes(key) + nodes(value) for key, value in entries)
        case None:
            return 0
        case _:
            return 1


@dataclass(frozen=True, slots=True)
class Steps:
    """What a macro goes over, one scope for each step."""

    over: Run
    variable: str
    read: Read
    weight: int

    def __call__(self, scope: Scope) -> Iterable[tuple[Any, Scope]]:
        value = self.over(scope)
        if not isinstance(value, list | dict):
            raise Failure("no such overload")
        inner = dict(scope)
        for each in value:
            spend(scope, self.weight + 1)
            inner[self.variable] = found = each if self.read is None else _read(each, self.read)
            yield found, inner


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
    if condition is None:
        return lambda scope: [body(inner) for _, inner in steps(scope)]
    return lambda scope: [body(inner) for _, inner in steps(scope) if truth(condition(inner))]


FOLDS: dict[str, Callable[[Steps, Run, Run | None], Run]] = {
    "all": lambda steps, body, _: _fold_decided(steps, body, ends=False),
    "exists": lambda steps, body, _: _fold_decided(steps, body, ends=True),
    "exists_one": _fold_one,
    "filter": _fold_filter,
    "map": _fold_map,
}
