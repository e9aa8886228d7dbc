"""Node labels as columns of small numbers, so that a selector is one comparison over all nodes.

For each label key there is a column with one code per node (-1: the node has no such label) and the list
of values the codes stand for. A requirement is decided once per distinct value and looked up per node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from podling.machinery.selectors import LabelSelector, Operator, Requirement

Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

ABSENT = -1


class _Column:
    __slots__ = ("code_of", "codes", "values")

    def __init__(self, capacity: int) -> None:
        self.codes: Codes = np.full(capacity, ABSENT, np.int32)
        self.values: list[str] = []
        self.code_of: dict[str, int] = {}

    def encode(self, value: str) -> int:
        code = self.code_of.get(value)
        if code is None:
            code = self.code_of[value] = len(self.values)
            self.values.append(value)
        return code


class LabelColumns:
    """The labels of all rows. A row starts without labels."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, _Column] = {}

    def grow(self, capacity: int) -> None:
        for column in self._columns.values():
            more = np.full(capacity - self._capacity, ABSENT, np.int32)
            column.codes = np.concatenate((column.codes, more))
        self._capacity = capacity

    def set(self, row: int, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Replace the labels of a row that had ``before``."""
        for key in before.keys() - labels.keys():
            self._columns[key].codes[row] = ABSENT
        for key, value in labels.items():
            if before.get(key) != value:
                column = self._columns.get(key)
                if column is None:
                    column = self._columns[key] = _Column(self._capacity)
                column.codes[row] = column.encode(value)

    def codes(self, key: str, rows: Rows) -> Codes:
        """Return the codes of a label; equal codes mean equal values."""
        column = self._columns.get(key)
        return np.full(len(rows), ABSENT, np.int32) if column is None else column.codes[rows]

    def distinct(self, key: str) -> int:
        """Return an upper bound of the codes of a label."""
        column = self._columns.get(key)
        return len(column.values) if column else 0

    def matches_all(self, requirements: Iterable[Requirement], rows: Rows) -> Mask:
        result: Mask = np.ones(len(rows), np.bool_)
        for requirement in requirements:
            result &= self.matches(requirement, rows)
        return result

    def selected(self, selector: LabelSelector, rows: Rows) -> Mask:
        if selector.never:
            return np.zeros(len(rows), np.bool_)
        return self.matches_all(selector.requirements, rows)

    def matches(self, requirement: Requirement, rows: Rows) -> Mask:
        codes = self.codes(requirement.key, rows)
        match requirement.operator:
            case Operator.EXISTS:
                return np.not_equal(codes, ABSENT)
            case Operator.DOES_NOT_EXIST:
                return np.equal(codes, ABSENT)
            case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
                return self._one_of(requirement, codes)
            case Operator.NOT_IN | Operator.NOT_EQUALS:
                return ~self._one_of(requirement, codes)
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return self._each_value(requirement, codes)

    def _one_of(self, requirement: Requirement, codes: Codes) -> Mask:
        column = self._columns.get(requirement.key)
        known = column.code_of if column else {}
        wanted = [known[value] for value in requirement.values if value in known]
        if len(wanted) == 1:
            return np.equal(codes, wanted[0])
        return np.isin(codes, np.array(wanted, np.int32))

    def _each_value(self, requirement: Requirement, codes: Codes) -> Mask:
        column = self._columns.get(requirement.key)
        values = column.values if column else []
        decided = [requirement.matches({requirement.key: value}) for value in values]
        # One more for ABSENT, which is the index -1 and so reads the last.
        return np.array([*decided, False], np.bool_)[codes]
