"""Durations as Go writes and reads them. Pure."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"([0-9]*)(\.[0-9]*)?")
_UNIT = re.compile(r"[^0-9.]*")
_SECONDS_MAX = (2**63 - 1) / 1e9
"""Go counts nanoseconds in 64 bits."""


def seconds_of(text: str) -> float:
    """Return the seconds of ``1h30m`` and its like. Raises ``ValueError`` in Go's words."""
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
        if total > _SECONDS_MAX:
            raise ValueError(f'time: invalid duration "{text}"')
        if not rest:
            return sign * total


def go_duration(seconds: float) -> str:
    """Return ``seconds`` cut to milliseconds: ``0s``, ``350ms``, ``1.5s``, ``2m0.25s``, ``1h0m5s``."""
    milliseconds = int(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    whole, rest = divmod(milliseconds, 1000)
    minutes, whole = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
