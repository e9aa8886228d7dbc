"""Durations as Go writes and reads them. Pure."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"([0-9]*)(\.[0-9]*)?")
_UNIT = re.compile(r"[^0-9.]*")


def seconds_of(text: str) -> float:
    """The seconds of ``1h30m`` and its like. Raises ``ValueError`` in Go's words."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    sign = -1 if text.startswith("-") else 1
    if rest == "0":
        return 0
    total = 0.0
    while True:
        amount = _AMOUNT.match(rest)
        if amount is None or not amount[0].strip("."):
            raise ValueError(f'time: invalid duration "{text}"')
        rest = rest[amount.end() :]
        unit = _UNIT.match(rest)
        assert unit is not None, "the pattern matches nothing, too"
        if not unit[0]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit[0] not in _UNITS:
            raise ValueError(f'time: unknown unit "{unit[0]}" in duration "{text}"')
        total += float(amount[0]) * _UNITS[unit[0]]
        rest = rest[unit.end() :]
        if not rest:
            return sign * total
