"""Selectors of many conditions, arranged so that a decision takes as long as the object has labels or fields.

A client may send thousands of conditions in one selector, and each object of a list, and each event of a
watch, is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podling.machinery.requirements import Operator, Requirement, integer_of

FEW = 8
"""So many conditions and values are looked at one by one."""

_ALLOWS = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
_FORBIDS = (Operator.NOT_EQUALS, Operator.NOT_IN)
_ABSENT = (*_FORBIDS, Operator.DOES_NOT_EXIST)
"""Operators that hold where the label is absent."""


class _Conditions:
    """All conditions on one label that is present."""

    def __init__(self) -> None:
        self.never = False
        self.allowed: set[str] | None = None
        self.forbidden: set[str] = set()
        self.above: int | None = None
        self.below: int | None = None

    def add(self, each: Requirement) -> None:
        operator = each.operator
        if operator in _ALLOWS:
            self.allowed = set(each.values) if self.allowed is None else self.allowed & set(each.values)
        elif operator in _FORBIDS:
            self.forbidden.update(each.values)
        elif operator is Operator.DOES_NOT_EXIST:
            self.never = True
        elif operator is not Operator.EXISTS:
            self._compare(operator, integer_of(each.values[0]))

    def _compare(self, operator: Operator, bound: int | None) -> None:
        if bound is None:
            self.never = True
        elif operator is Operator.GREATER_THAN:
            self.above = bound if self.above is None else max(self.above, bound)
        else:
            self.below = bound if self.below is None else min(self.below, bound)

    def hold(self, value: str) -> bool:
        if self.never or value in self.forbidden:
            return False
        if self.allowed is not None and value not in self.allowed:
            return False
        if self.above is None and self.below is None:
            return True
        number = integer_of(value)
        if number is None:
            return False
        is_above = self.above is None or number > self.above
        return is_above and (self.below is None or number < self.below)


class LabelIndex:
    """The requirements of a label selector, by label."""

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self._present: set[str] = set()
        """Labels that an object must have."""
        self._conditions: dict[str, _Conditions] = {}
        for each in requirements:
            if each.operator not in _ABSENT:
                self._present.add(each.key)
            self._conditions.setdefault(each.key, _Conditions()).add(each)

    def matches(self, labels: Mapping[str, str]) -> bool:
        if len(self._present) > len(labels) or not all(key in labels for key in self._present):
            return False
        return all(
            conditions.hold(value)
            for key, value in labels.items()
            if (conditions := self._conditions.get(key)) is not None
        )


def label_index(requirements: tuple[Requirement, ...]) -> LabelIndex | None:
    """Return an index of ``requirements``; None if there are few."""
    if len(requirements) <= FEW and all(len(each.values) <= FEW for each in requirements):
        return None
    return LabelIndex(requirements)


class FieldIndex:
    """The terms of a field selector, by field: (field, value, whether they must be equal)."""

    def __init__(self, terms: Iterable[tuple[str, str, bool]]) -> None:
        self._fields: dict[str, tuple[set[str], set[str]]] = {}
        for field, value, equal in terms:
            same, other = self._fields.setdefault(field, (set(), set()))
            (same if equal else other).add(value)

    def matches(self, values: Mapping[str, str]) -> bool:
        """Return whether an object with these field values is selected; a missing value is empty."""
        for field, (same, other) in self._fields.items():
            value = values.get(field, "")
            if value in other or (same and (len(same) > 1 or value not in same)):
                return False
        return True
