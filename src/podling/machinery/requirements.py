"""One condition on one label: what selectors, node affinity and topology rules are made of.

A requirement that ``requirement`` made is known to be good: its key is a label key, its values are
label values, and there are as many as its operator takes (``apimachinery/pkg/labels``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum

from msgspec import Struct

from podling.machinery import fields, names
from podling.machinery.numbers import INT64_MAX


class SelectorError(ValueError):
    """A selector that cannot be read; the text is upstream's."""


class Operator(Enum):
    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_digits = re.compile(r"[-+]?[0-9]+").fullmatch


def integer_of(text: str) -> int | None:
    """Return the number in ``text``; None for other texts, and for a number of more than 64 bits."""
    value = int(text) if _digits(text) and len(text) <= names.LABEL_VALUE_MAX_LENGTH else None
    return value if value is not None and -INT64_MAX - 1 <= value <= INT64_MAX else None


class Requirement(Struct, frozen=True):
    """One condition on one label. Make checked ones with ``requirement``."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                left, right = integer_of(value or ""), integer_of(self.values[0])
                if left is None or right is None:
                    return False
                return left > right if self.operator is Operator.GREATER_THAN else left < right

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(sorted(self.values))})"
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return f"{self.key}{'>' if self.operator is Operator.GREATER_THAN else '<'}{self.values[0]}"
            case _:
                return f"{self.key}{self.operator.value}{self.values[0]}"


def requirement(
    key: str, operator: Operator, values: Iterable[str] = (), path: fields.Path | None = None
) -> Requirement:
    """Return a requirement whose key and values are checked. Raises SelectorError."""
    path = path or fields.Path()
    where, found = path.child("values"), tuple(dict.fromkeys(values))
    problems = key_errors(key, path) + _count_errors(operator, found, where)
    for index, value in enumerate(found):
        if wrong := names.label_value_errors(value):
            problems.append(fields.invalid(where.index(index).key(key), value, "; ".join(wrong)))
    if problems:
        raise SelectorError(fields.aggregate(problems))
    return Requirement(key, operator, found)


def key_errors(key: str, path: fields.Path) -> list[fields.FieldError]:
    """Return the errors of a requirement's key."""
    wrong = names.qualified_name_errors(key)
    return [fields.invalid(path, key, "; ".join(wrong))] if wrong else []


def _count_errors(operator: Operator, values: tuple[str, ...], where: fields.Path) -> list[fields.FieldError]:
    count, text = len(values), ""
    match operator:
        case Operator.IN | Operator.NOT_IN if count == 0:
            text = "for 'in', 'notin' operators, values set can't be empty"
        case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.NOT_EQUALS if count != 1:
            text = "exact-match compatibility requires one single value"
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if count != 0:
            text = "values set must be empty for exists and does not exist"
        case Operator.GREATER_THAN | Operator.LESS_THAN if count != 1:
            text = "for 'Gt', 'Lt' operators, exactly one value is required"
        case Operator.GREATER_THAN | Operator.LESS_THAN if integer_of(values[0]) is None:
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            return [fields.invalid(where.index(0), values[0], text)]
    return [fields.invalid(where, list(values), text)] if text else []
