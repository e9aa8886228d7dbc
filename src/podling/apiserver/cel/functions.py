"""CEL's functions: operators, conversions, parts of times, with their types; ``library`` has the rest.

A method's first argument is the value before the dot. Source: ``google/cel-spec``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from podling.apiserver.cel.formatting import to_string
from podling.apiserver.cel.types import Type, type_named
from podling.apiserver.cel.values import Unsigned, inside, same

Function = Callable[..., Any]
LONGEST = timedelta(microseconds=2**63 // 1000)
"""The longest duration: what 63 bits of nanoseconds hold."""
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Overload(Struct, frozen=True):
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


def integer(value: int) -> int:
    """``value`` as CEL's ``int``. Raises ArithmeticError when it is too large."""
    if not INT_MIN <= value <= INT_MAX:
        raise ArithmeticError("integer overflow")
    return value


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        if right:
            return left / right
        if not left or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if not right:
        raise ArithmeticError("division by zero")
    found = abs(left) // abs(right)
    return integer(found if (left < 0) == (right < 0) else -found)


def _remainder(left: int, right: int) -> int:
    if not right:
        raise ArithmeticError("modulus by zero")
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def _unsigned(run: Function) -> Function:
    def checked(*arguments: Any) -> int:
        found: int = run(*arguments)
        if not 0 <= found <= UINT_MAX:
            raise ArithmeticError("unsigned integer overflow")
        return Unsigned(found)

    return checked


def _operators() -> None:
    plus, minus, times = (lambda a, b: a + b), (lambda a, b: a - b), (lambda a, b: a * b)
    whole: list[tuple[str, Function]] = [("_+_", plus), ("_-_", minus), ("_*_", times), ("_/_", _divide)]
    for name, run in whole:
        add(name, "", "int int", "int", lambda a, b, run=run: integer(run(a, b)))
        add(name, "", "uint uint", "uint", _unsigned(run))
        add(name, "", "double double", "double", run)
    add("_%_", "", "int int", "int", _remainder)
    add("_%_", "", "uint uint", "uint", _unsigned(_remainder))
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


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


_LONG = re.compile(r"(\d+)\s*(ms|s|sec|m|min|minute|h|hr|hour|d|day|w|wk|week)s?(?![a-z])")
_LONGER = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0,
    "hour": 3600.0, "d": 86400.0, "day": 86400.0, "w": 604800.0, "wk": 604800.0, "week": 604800.0,
}  # fmt: skip
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").fullmatch
_WHOLE = re.compile(r"[+-]?[0-9]+").fullmatch
_FLOAT = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE
).fullmatch
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)").fullmatch


def duration(text: str) -> timedelta:
    """Go's notation of durations, ``1h30m``. Raises ``ValueError``."""
    rest = text.removeprefix("-").removeprefix("+")
    parts = _DURATION.findall(rest)
    if rest != "0" and (not parts or "".join(map("".join, parts)) != rest):
        raise ValueError(f'time: invalid duration "{text}"')
    found = timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    return -found if text.startswith("-") else found


def long_duration(text: str) -> timedelta:
    """Return a value of the format ``duration``, which knows ``2 days``, too. Raises ``ValueError``."""
    try:
        return duration(text)
    except ValueError:
        parts = _LONG.findall(text.lower())
        if not parts:
            raise
        return timedelta(seconds=sum(int(number) * _LONGER[unit] for number, unit in parts))


def timestamp(text: str) -> datetime:
    """RFC 3339, or a day alone, as values of the formats ``date`` and ``date-time`` are."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _not(kind: str, wanted: str) -> ValueError:
    return ValueError(f"type conversion error from '{kind}' to '{wanted}'")


def _to_duration(text: str) -> timedelta:
    try:
        found = duration(text)
    except (ValueError, OverflowError):
        raise _not("string", "google.protobuf.Duration") from None
    if abs(found) > LONGEST:
        raise _not("string", "google.protobuf.Duration")
    return found


def _to_timestamp(text: str) -> datetime:
    try:
        if _MOMENT(text):
            return timestamp(text)
    except ValueError:
        pass
    raise _not("string", "google.protobuf.Timestamp")


def _from_epoch(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ArithmeticError("timestamp overflow") from None


def _to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1) * 1000
    if isinstance(value, str) and not _WHOLE(value):
        raise _not("string", "int")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArithmeticError("integer overflow")
    return integer(int(value))


def _to_uint(value: Any) -> int:
    if isinstance(value, str) and (not _WHOLE(value) or value[0] in "+-"):
        raise _not("string", "uint")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArithmeticError("unsigned integer overflow")
    return int(value)


def _to_double(value: Any) -> float:
    if isinstance(value, str) and not _FLOAT(value):
        raise _not("string", "double")
    return float(value)


def _to_bool(text: str) -> bool:
    if text in ("true", "True", "TRUE", "t", "1"):
        return True
    if text in ("false", "False", "FALSE", "f", "0"):
        return False
    raise _not("string", "bool")


def _conversions() -> None:
    for each in ("int", "uint", "double", "string", "timestamp", "duration"):
        add("int", "", each, "int", _to_int)
    for each in ("int", "uint", "double", "string"):
        add("uint", "", each, "uint", _unsigned(_to_uint))
        add("double", "", each, "double", _to_double)
    for each in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"):
        add("string", "", each, "string", to_string)
    add("bool", "", "bool", "bool", lambda value: value)
    add("bool", "", "string", "bool", _to_bool)
    add("bytes", "", "string", "bytes", str.encode)
    add("bytes", "", "bytes", "bytes", lambda value: value)
    add("duration", "", "string", "duration", _to_duration)
    add("duration", "", "duration", "duration", lambda value: value)
    add("timestamp", "", "string", "timestamp", _to_timestamp)
    add("timestamp", "", "timestamp", "timestamp", lambda value: value)
    add("timestamp", "", "int", "timestamp", _from_epoch)
    add("dyn", "", "A", "dyn", lambda value: value)


def _zone(text: str) -> tzinfo:
    """A time zone by its name, or by how far it is ahead."""
    ahead = _OFFSET(text)
    if ahead:
        sign = -1 if ahead.group(1) == "-" else 1
        return timezone(sign * timedelta(hours=int(ahead.group(2)), minutes=int(ahead.group(3))))
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {text}") from None


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
        add(name, "timestamp", "string", "int", lambda t, z, part=part: part(t.astimezone(_zone(z))))
    for name, seconds in (("getHours", 3600), ("getMinutes", 60), ("getSeconds", 1)):
        add(name, "duration", "", "int", lambda d, unit=seconds: int(d.total_seconds() / unit))
    add("getMilliseconds", "duration", "", "int", lambda d: int(d / timedelta(milliseconds=1)))


for _group in (_operators, _conversions, _moments):
    _group()
