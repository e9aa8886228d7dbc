"""What can be said of texts before an expression is run: that they are no duration, no time, no pattern.

Source: ``google/cel-go/cel/validator.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.apiserver.cel.functions import OVERLOADS
from podling.apiserver.patterns import pattern


def _conversion(name: str) -> Callable[[str], object]:
    return next(each.run for each in OVERLOADS[name] if [arg.name for arg in each.arguments] == ["string"])


_READ: dict[str, Callable[[str], object]] = {
    "duration": _conversion("duration"),
    "timestamp": _conversion("timestamp"),
    "matches": pattern,
}


def literal_problem(function: str, value: Any) -> str:
    """Why a function cannot read this text; empty if it can, or does not read texts."""
    read = _READ.get(function)
    if read is None or not isinstance(value, str):
        return ""
    try:
        read(value)
    except (ValueError, OverflowError):
        return f"invalid {function} argument"
    return ""
