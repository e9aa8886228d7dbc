"""Conversion of values to text: ``string(...)`` and ``'%s'.format([...])``.

Source: ``google/cel-go`` (``common/types``, and ``ext/formatting.go`` for version 2 of its strings).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from podling.apiserver.cel.values import kind_of

_CLAUSE = re.compile(r"%(?:%|(?:\.(\d+))?(.?))", re.DOTALL)
EXPONENT_FROM = 6
_SPECIAL = {math.inf: '"+Inf"', -math.inf: '"-Inf"'}
_NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def go_float(value: float) -> str:
    """Go's ``%g``: as few digits as identify the number, with an exponent from a million on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, figures, power = Decimal(repr(value)).as_tuple()
    assert isinstance(power, int)
    digits = "".join(map(str, figures)).rstrip("0") or "0"
    exponent = len(figures) + power - 1
    if digits == "0":
        return "-0" if sign else "0"
    if not -4 <= exponent < EXPONENT_FROM:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{'-' * sign}{digits[0]}{fraction}e{exponent:+03d}"
    return f"{'-' * sign}{_plain(digits, exponent)}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits.ljust(exponent + 1, "0")
    fraction = whole[exponent + 1 :]
    return whole[: exponent + 1] + (f".{fraction}" if fraction else "")


def seconds(value: timedelta) -> str:
    """Return a duration as CEL writes it: seconds, with a fraction if need be."""
    micros = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 10**6)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{whole}{fraction}s"


def moment(value: datetime) -> str:
    """RFC 3339 as it was written, with a fraction if need be."""
    text = value.replace(tzinfo=None).isoformat()
    ahead = value.isoformat()[len(text) :]
    return (text.rstrip("0") if "." in text else text) + ("Z" if ahead in ("", "+00:00") else ahead)


def to_string(value: Any) -> str:
    """``string(value)``. Raises ``ValueError``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, timedelta):
        return seconds(value)
    return go_float(value) if isinstance(value, float) else str(value)


def formatted(template: str, values: list[Any]) -> str:
    """``'%d of %s'.format([1, 'a'])``. Raises ``ValueError``."""
    left = iter(enumerate(values))
    made, used = [], 0
    for match in _CLAUSE.finditer(template):
        made.append(template[used : match.start()])
        used = match.end()
        made.append("%" if match.group() == "%%" else _clause(match, left, len(values)))
    if (extra := next(left, None)) is not None:
        raise ValueError(
            f"too many arguments supplied to string.format (expected {extra[0]}, got {len(values)})"
        )
    return "".join(made) + template[used:]


def _clause(match: re.Match[str], left: Iterator[tuple[int, Any]], count: int) -> str:
    verb = match.group(2)
    if verb not in _VERBS:
        raise ValueError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    _, value = next(left, (0, _MISSING))
    if value is _MISSING:
        raise ValueError(f"index {count} out of range")
    try:
        return _VERBS[verb](value, int(match.group(1) or 6))
    except TypeError:
        text = _NEEDS[verb]
        raise ValueError(f"error during formatting: {text}, was given {_kind_name(value)}") from None


_MISSING = object()


def _kind_name(value: Any) -> str:
    kind = kind_of(value)
    return {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}.get(kind, kind)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _text(value: Any, _digits: int) -> str:
    if isinstance(value, list | dict):
        return _inner(value)
    return "null" if value is None else to_string(value)


def _inner(value: Any) -> str:
    """Return a value inside of a list or map."""
    if isinstance(value, list):
        return f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, dict):
        entries = sorted((_inner(key), _inner(each)) for key, each in value.items())
        return f"{{{', '.join(f'{key}:{each}' for key, each in entries)}}}"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bytes):
        return f'b"{to_string(value)}"'
    if isinstance(value, datetime | timedelta):
        return f'{kind_of(value)}("{to_string(value)}")'
    if isinstance(value, float):
        return _SPECIAL.get(value) or ('"NaN"' if math.isnan(value) else f"{value:.6f}")
    return "null" if value is None else to_string(value)


def _decimal(value: Any, _digits: int) -> str:
    return str(_whole(value))


def _double(value: Any) -> float:
    if isinstance(value, str) and value in _NAMED:
        return _NAMED[value]
    if not isinstance(value, float):
        raise TypeError
    return value


def _unusual(number: float) -> str:
    """Return the text of NaN or an infinity; empty for other numbers."""
    if math.isnan(number):
        return "NaN"
    return ("∞" if number > 0 else "-∞") if math.isinf(number) else ""


def _fixed(value: Any, digits: int) -> str:
    """As it is read in English: with a comma after thousands."""
    number = _double(value)
    return _unusual(number) or f"{number:,.{digits}f}"


def _scientific(value: Any, _digits: int) -> str:
    """Format as in English. Kubernetes ignores the requested number of digits, too."""
    number = _double(value)
    if found := _unusual(number):
        return found
    figures, _, power = f"{number:.6e}".partition("e")
    return f"{figures}\u202f×\u202f10{power.removeprefix('+').translate(_RAISED)}"


def _hexadecimal(value: Any, _digits: int) -> str:
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    return f"{_whole(value):x}"


def _octal(value: Any, _digits: int) -> str:
    return f"{_whole(value):o}"


def _binary(value: Any, _digits: int) -> str:
    return f"{value if isinstance(value, bool) else _whole(value):b}"


_VERBS = {
    "s": _text,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "x": _hexadecimal,
    "X": lambda value, digits: _hexadecimal(value, digits).upper(),
    "o": _octal,
    "b": _binary,
}
_NEEDS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
    "b": "only integers and bools can be formatted as binary",
}
