"""Expressions for the resources of sidecars: ``max(cpu*50%, 50m)``. Pure.

Numbers, shares, quantities and variables; ``+ - * /``, and ``max`` and ``min`` of two values. A number that
meets a quantity becomes one, in thousandths; products are rounded towards zero.
Upstream: ``pkg/util/calculator``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from podling.machinery import quantity
from podling.machinery.numbers import INT64_MAX
from podling.machinery.quantity import NANO, Format, Quantity

Value = float | Quantity

DEPTH_MAX = 100
"""Parentheses within one another."""
_MILLI = NANO // 1000
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<unit>%|[A-Za-z]+)?"
    r"|(?P<name>[^\W\d_]\w*)|(?P<sign>\S))"
)
_UNITS = ("m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi")


class ExpressionError(ValueError):
    """The expression cannot be read, or has no value."""


def evaluate(text: str, variables: Mapping[str, Value]) -> Value:
    """Return the value of an expression, which is not negative. Raises ``ExpressionError``."""
    reader = _Reader(text, variables)
    found = reader.sum()
    if reader.token is not None:
        raise ExpressionError("parse error: syntax error")
    if (found < quantity.ZERO) if isinstance(found, Quantity) else (found < 0):
        shown = str(found) if isinstance(found, Quantity) else f"{found:g}"
        raise ExpressionError(f"calculation result is negative: {shown}")
    return found


def as_quantity(value: Value) -> Quantity:
    """Return a number as a quantity, in whole thousandths."""
    if isinstance(value, Quantity):
        return value
    return Quantity(_whole(value * 1000) * _MILLI, Format.DECIMAL_SI)


def _whole(number: float) -> int:
    """Return a number without its fraction. Raises ``ExpressionError`` for one that no quantity can be."""
    if not abs(number) < INT64_MAX:
        raise ExpressionError(f"number out of range: {number:g}")
    return int(number)


class _Reader:
    """Reads an expression from left to right. ``token``: the next one, None at the end."""

    def __init__(self, text: str, variables: Mapping[str, Value]) -> None:
        self._tokens = iter(_TOKEN.finditer(text.rstrip()))
        self._variables, self._depth = variables, 0
        self.token: re.Match[str] | None = None
        self._advance()

    def _advance(self) -> None:
        self.token = next(self._tokens, None)

    def _takes(self, *signs: str) -> str:
        """Return the next token if it is one of these signs, and go on; else an empty text."""
        sign = self.token["sign"] if self.token is not None else None
        if sign not in signs:
            return ""
        self._advance()
        return sign or ""

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise ExpressionError("parse error: syntax error")

    def sum(self) -> Value:
        found = self._product()
        while sign := self._takes("+", "-"):
            found = _added(found, self._product(), sign)
        return found

    def _product(self) -> Value:
        found = self._factor()
        while sign := self._takes("*", "/"):
            other = self._factor()
            found = _multiplied(found, other) if sign == "*" else _divided(found, other)
        return found

    def _factor(self) -> Value:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise ExpressionError("parse error: memory exhausted")
        try:
            return self._single()
        finally:
            self._depth -= 1

    def _single(self) -> Value:
        if self._takes("-"):
            return -self._factor()
        if self._takes("("):
            found = self.sum()
            self._expect(")")
            return found
        token = self.token
        if token is None or token["sign"] is not None:
            raise ExpressionError("parse error: syntax error")
        self._advance()
        if token["name"] is None:
            return _constant(token["number"], token["unit"] or "")
        name: str = token["name"]
        return self._call(name) if self._takes("(") else self._variable(name)

    def _variable(self, name: str) -> Value:
        found = self._variables.get(name.lower())
        if found is None:
            raise ExpressionError(f"undefined variable: {name.lower()}")
        return found

    def _call(self, name: str) -> Value:
        values = [self.sum()]
        while self._takes(","):
            values.append(self.sum())
        self._expect(")")
        function = name.lower()
        if function not in ("max", "min"):
            raise ExpressionError(f"unknown function: {name}")
        if len(values) != 2:
            raise ExpressionError(f"{function} function requires exactly 2 arguments, got {len(values)}")
        one, other = values
        if isinstance(one, Quantity) or isinstance(other, Quantity):
            first, second = as_quantity(one), as_quantity(other)
            wins = first >= second if function == "max" else first <= second
            return first if wins else second
        return max(one, other) if function == "max" else min(one, other)


def _constant(number: str, unit: str) -> Value:
    if unit in _UNITS:
        try:
            return quantity.parse(number + unit)
        except ValueError as error:
            raise ExpressionError(str(error)) from error
    if unit not in ("", "%"):
        raise ExpressionError(f"parse error: unknown unit {unit}")
    return float(number) / 100 if unit else float(number)


def _added(one: Value, other: Value, sign: str) -> Value:
    if isinstance(one, Quantity) or isinstance(other, Quantity):
        first, second = as_quantity(one), as_quantity(other)
        return first + second if sign == "+" else first - second
    return one + other if sign == "+" else one - other


def _multiplied(one: Value, other: Value) -> Value:
    if isinstance(one, Quantity):
        if isinstance(other, Quantity):
            raise ExpressionError("multiplication of two quantities")
        return _times(one, other)
    return _times(other, one) if isinstance(other, Quantity) else one * other


def _times(amount: Quantity, factor: float) -> Quantity:
    return Quantity(_whole(amount.milli_value * factor) * _MILLI, amount.format)


def _divided(one: Value, other: Value) -> Value:
    if isinstance(other, Quantity):
        raise ExpressionError("division by quantity")
    if not other:
        raise ExpressionError("division by zero")
    if isinstance(one, Quantity):
        return Quantity(_whole(one.milli_value / other) * _MILLI, one.format)
    return one / other
