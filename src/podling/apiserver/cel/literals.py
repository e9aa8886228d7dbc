"""Checks of literal texts before an expression is run: durations, times, patterns.

Source: ``google/cel-go/cel/validator.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podling.apiserver.cel.functions import OVERLOADS
from podling.apiserver.cel.patterns import pattern


def _conversion(name: str, kind: str) -> Callable[[Any], object]:
    return next(each.run for each in OVERLOADS[name] if [arg.name for arg in each.arguments] == [kind])


_READ: dict[tuple[str, type[Any]], Callable[[Any], object]] = {
    ("duration", str): _conversion("duration", "string"),
    ("timestamp", str): _conversion("timestamp", "string"),
    ("timestamp", int): _conversion("timestamp", "int"),
    ("matches", str): pattern,
}


def literal_problem(function: str, value: Any) -> str:
    """Why a function cannot read this value; empty if it can, or reads none like it."""
    read = _READ.get((function, type(value)))
    if read is None:
        return ""
    try:
        read(value)
    except (ValueError, ArithmeticError):
        return f"invalid {function} argument"
    return ""


def pattern_problem(value: Any) -> str:
    """Return the error of a pattern; empty if it is valid."""
    try:
        if isinstance(value, str):
            pattern(value)
    except ValueError as problem:
        return str(problem)
    return ""
