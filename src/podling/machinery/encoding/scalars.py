"""Single values as the API keeps them: quantities, times, integers, base64.

Each function takes a JSON value and gives the value to keep. ``WrongType`` means that the value has a
JSON type the field cannot have; any other ValueError carries the message of the Go type that reads it.
"""

from __future__ import annotations

import binascii
import json
import re
from datetime import UTC, datetime
from typing import Any

from podling.machinery.quantity import canonical, canonical_milli


class WrongType(ValueError):
    """The JSON type is wrong; the message is for the caller to make, who knows the field."""


_RFC3339 = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
_ZERO_TIME = "0001-01-01T00:00:00Z"
_ZERO_MICRO_TIME = "0001-01-01T00:00:00.000000Z"
_canonical_time = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[012][0-9]:[0-5][0-9]:[0-5][0-9]Z").fullmatch
_time = re.compile(
    r"([0-9]{4}-[01][0-9]-[0-3][0-9]T[012][0-9]:[0-5][0-9]:[0-5][0-9])(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch
_not_base64 = re.compile(r"[^A-Za-z0-9+/]").search


def quantity(value: Any) -> str:
    """Canonical; JSON numbers are quantities too."""
    if type(value) is str:
        return canonical(value.strip())
    if type(value) in (int, float):
        return canonical(json.dumps(value))
    return canonical(json.dumps(value))


def resource(value: Any) -> str:
    """Return a quantity of a resource list: nothing is finer than a thousandth there."""
    return canonical_milli(value.strip() if type(value) is str else json.dumps(value))


def int32(value: Any) -> int:
    if type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise WrongType


def int64(value: Any) -> int:
    if type(value) is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise WrongType


def int_or_string(value: Any) -> int | str:
    return value if type(value) is str else int32(value)


def time(value: Any) -> str | None:
    """Whole seconds in UTC: what is finer is cut off. None for Go's zero time, which it writes as null."""
    if type(value) is not str:
        raise WrongType
    if _canonical_time(value):
        return None if value == _ZERO_TIME else value
    text = _moment(value, _RFC3339).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    return None if text == _ZERO_TIME else text


def micro_time(value: Any) -> str | None:
    """Microseconds in UTC; all six digits must be there. None for Go's zero time, which it writes as null."""
    if type(value) is not str:
        raise WrongType
    parts = _time(value)
    if parts and len(parts.group(2) or "") != 7:
        rest = (parts.group(2) or "") + parts.group(3)
        raise ValueError(
            f'parsing time {json.dumps(value)} as "{_RFC3339_MICRO}": '
            f'cannot parse {json.dumps(rest)} as ".000000"'
        )
    text = _moment(value, _RFC3339_MICRO).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return None if text == _ZERO_MICRO_TIME else text


def _moment(value: str, layout: str) -> datetime:
    parts = _time(value)
    if parts is None:
        raise ValueError(_time_complaint(value, layout))
    seconds, fraction, zone = parts.groups()
    try:
        return datetime.fromisoformat(f"{seconds}{(fraction or '')[:7]}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"parsing time {json.dumps(value)}: day out of range") from None


_LAYOUT_STEPS = (
    ("2006", r"[0-9]{4}"),
    ("-", "-"),
    ("01", "[01][0-9]"),
    ("-", "-"),
    ("02", "[0-3][0-9]"),
    ("T", "T"),
    ("15", "[012][0-9]"),
    (":", ":"),
    ("04", "[0-5][0-9]"),
    (":", ":"),
    ("05", "[0-5][0-9]"),
    ("Z07:00", r"(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"),
)


def _time_complaint(value: str, layout: str) -> str:
    """Return the part of the layout that the text lacks, as Go's ``time.Parse`` reports it."""
    rest, start = value, f"parsing time {json.dumps(value)} as {json.dumps(layout)}: "
    for element, pattern in _LAYOUT_STEPS:
        match = re.match(pattern, rest)
        if match is None:
            return f"{start}cannot parse {json.dumps(rest)} as {json.dumps(element)}"
        rest = rest[match.end() :]
    return f"{start.rpartition(' as ')[0]}: extra text: {json.dumps(rest)}"


def base64(value: Any) -> str:
    """Standard base64 without line breaks."""
    if type(value) is not str:
        raise WrongType
    text = value.replace("\n", "").replace("\r", "")
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"illegal base64 data at input byte {_first_bad_byte(text)}") from None
    return text


def _first_bad_byte(text: str) -> int:
    body = text.rstrip("=") if len(text) % 4 == 0 else text
    if bad := _not_base64(body):
        return bad.start()
    return len(text) - len(text) % 4 if len(text) % 4 else len(body)
