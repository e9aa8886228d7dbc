"""What CEL can call: operators, conversions, parts of times, with their types; ``library`` adds the rest.

Values are plain: ``int``, ``float``, ``str``, ``bool``, ``bytes``, ``list``, ``dict``, ``None``,
``datetime``, ``timedelta``. A method's first argument is what stands before the dot.
Source: ``google/cel-spec``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from podling.apiserver.cel.types import Type, type_named
from podling.machinery.plain import equal

Function = Callable[..., Any]
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function: the types of its arguments (a method's target first), and its result's."""

    method: bool
    arguments: tuple[Type, ...]
    result: Type
    run: Function


OVERLOADS: dict[str, list[Overload]] = {}
"""By name. Operators have cel-go's names: ``_+_``."""


def add(name: str, target: str, arguments: str, result: str, run: Function) -> None:
    """Types are separated by blanks; alternatives of the target by ``|``; no target: a plain function."""
    for each in target.split("|") if target else ("",):
        types = tuple(map(type_named, [*filter(None, [each]), *arguments.split()]))
        OVERLOADS.setdefault(name, []).append(Overload(bool(each), types, type_named(result), run))


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may not be there."""

    held: Any = None
    present: bool = False


def same(left: Any, right: Any) -> bool:
    """Equality as CEL has it: of numbers whatever their type, of containers by what they hold."""
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return equal(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def integer(value: int) -> int:
    """``value`` as CEL's ``int``. Raises ArithmeticError when it is too large."""
    if not INT_MIN <= value <= INT_MAX:
        raise ArithmeticError("integer overflow")
    return value


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        if right:
            return left / right
        return math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)
    if not right:
        raise ArithmeticError("division by zero")
    found = abs(left) // abs(right)
    return integer(found if (left < 0) == (right < 0) else -found)


def _remainder(left: int, right: int) -> int:
    if not right:
        raise ArithmeticError("modulus by zero")
    return int(math.copysign(abs(left) % abs(right), left))


def _unsigned(run: Function) -> Function:
    def checked(*arguments: int) -> int:
        found: int = run(*arguments)
        if not 0 <= found <= UINT_MAX:
            raise ArithmeticError("unsigned integer overflow")
        return found

    return checked


def _operators() -> None:
    plus, minus, times = (lambda a, b: a + b), (lambda a, b: a - b), (lambda a, b: a * b)
    whole: list[tuple[str, Function]] = [("_+_", plus), ("_-_", minus), ("_*_", times), ("_/_", _divide)]
    for name, run in whole:
        add(name, "", "int int", "int", lambda a, b, run=run: integer(run(a, b)))
        add(name, "", "uint uint", "uint", _unsigned(run))
        add(name, "", "double double", "double", run)
    add("_%_", "", "int int", "int", _remainder)
    add("_%_", "", "uint uint", "uint", _remainder)
    for each in ("string", "bytes", "list(A)"):
        add("_+_", "", f"{each} {each}", each, plus)
    for name, run, kinds in (
        (
            "_+_",
            plus,
            ("timestamp duration timestamp", "duration timestamp timestamp", "duration duration duration"),
        ),
        (
            "_-_",
            minus,
            ("timestamp timestamp duration", "timestamp duration timestamp", "duration duration duration"),
        ),
    ):
        for kind in kinds:
            left, right, result = kind.split()
            add(name, "", f"{left} {right}", result, run)
    add("-_", "", "int", "int", lambda a: integer(-a))
    add("-_", "", "double", "double", lambda a: -a)
    add("_==_", "", "A A", "bool", same)
    add("_!=_", "", "A A", "bool", lambda a, b: not same(a, b))
    add("@in", "", "A list(A)", "bool", inside)
    add("@in", "", "A map(A,B)", "bool", lambda a, b: a in b)
    numbers = ("int", "uint", "double")
    pairs = [(a, b) for a in numbers for b in numbers]
    pairs += [(each, each) for each in ("string", "bytes", "bool", "timestamp", "duration")]
    for name, run in (
        ("_<_", lambda a, b: a < b),
        ("_<=_", lambda a, b: a <= b),
        ("_>_", lambda a, b: a > b),
        ("_>=_", lambda a, b: a >= b),
    ):
        for left, right in pairs:
            add(name, "", f"{left} {right}", "bool", run)


def inside(item: Any, items: list[Any]) -> bool:
    return any(same(item, each) for each in items)


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> timedelta:
    """Go's notation of durations: ``1h30m``."""
    rest = text.removeprefix("-").removeprefix("+")
    parts = _DURATION.findall(rest)
    if rest != "0" and (not parts or "".join(map("".join, parts)) != rest):
        raise ValueError(f'time: invalid duration "{text}"')
    found = timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    return -found if text.startswith("-") else found


def timestamp(text: str) -> datetime:
    """RFC 3339, or a day alone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1) * 1000
    return integer(int(value))


def to_string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    if isinstance(value, float):
        return f"{value:g}" if value == int(value) and abs(value) < 1e21 else repr(value)
    return str(value)


def _to_bool(text: str) -> bool:
    if text in ("true", "True", "TRUE", "t", "1"):
        return True
    if text in ("false", "False", "FALSE", "f", "0"):
        return False
    raise ValueError("type conversion error from 'string' to 'bool'")


def _conversions() -> None:
    for each in ("int", "uint", "double", "string", "timestamp", "duration"):
        add("int", "", each, "int", _to_int)
    for each in ("int", "uint", "double", "string"):
        add("uint", "", each, "uint", _unsigned(int))
        add("double", "", each, "double", float)
    for each in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"):
        add("string", "", each, "string", to_string)
    add("bool", "", "bool", "bool", lambda value: value)
    add("bool", "", "string", "bool", _to_bool)
    add("bytes", "", "string", "bytes", str.encode)
    add("bytes", "", "bytes", "bytes", lambda value: value)
    add("duration", "", "string", "duration", duration)
    add("duration", "", "duration", "duration", lambda value: value)
    add("timestamp", "", "string", "timestamp", timestamp)
    add("timestamp", "", "timestamp", "timestamp", lambda value: value)
    add("timestamp", "", "int", "timestamp", lambda value: datetime.fromtimestamp(value, UTC))
    add("dyn", "", "A", "dyn", lambda value: value)
    add("type", "", "A", "type", type)


def _moments() -> None:
    parts: list[tuple[str, Callable[[datetime], int]]] = [
        ("getFullYear", lambda t: t.year), ("getMonth", lambda t: t.month - 1),
        ("getDayOfMonth", lambda t: t.day - 1), ("getDate", lambda t: t.day),
        ("getDayOfWeek", lambda t: t.isoweekday() % 7), ("getDayOfYear", lambda t: t.timetuple().tm_yday - 1),
        ("getHours", lambda t: t.hour), ("getMinutes", lambda t: t.minute),
        ("getSeconds", lambda t: t.second), ("getMilliseconds", lambda t: t.microsecond // 1000),
    ]  # fmt: skip
    for name, part in parts:
        add(name, "timestamp", "", "int", lambda t, part=part: part(t.astimezone(UTC)))
        add(name, "timestamp", "string", "int", lambda t, z, part=part: part(t.astimezone(ZoneInfo(z))))
    for name, seconds in (("getHours", 3600), ("getMinutes", 60), ("getSeconds", 1)):
        add(name, "duration", "", "int", lambda d, unit=seconds: int(d.total_seconds() / unit))
    add("getMilliseconds", "duration", "", "int", lambda d: d.microseconds // 1000)


for _group in (_operators, _conversions, _moments):
    _group()
