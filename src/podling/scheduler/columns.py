"""Amounts of resources, one column per resource and one place per node.

CPU, memory, ephemeral storage and pods have fixed columns; other resources get one when they are first
seen. Amounts are whole numbers (CPU in thousandths), so that sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]

AMOUNT_MAX = 2**56
"""Larger amounts count as this one, so that sums over columns stay within 64 bits. A pod that requests so
much
fits nowhere, because no node has more than one less."""

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = range(4)
FIXED = ("cpu", "memory", "ephemeral-storage", "pods")


class ResourceColumns:
    """Resources of the rows: ``allocatable``, requested, and counted for scores (``scored``)."""

    def __init__(self, capacity: int) -> None:
        self.index: dict[str, int] = {name: number for number, name in enumerate(FIXED)}
        self.allocatable: Amounts = np.zeros((len(FIXED), capacity), np.int64)
        self.requested: Amounts = np.zeros((len(FIXED), capacity), np.int64)
        self.scored: Amounts = np.zeros((2, capacity), np.int64)
        self._excess: dict[tuple[int, int], int] = {}
        self._excess_scored: dict[tuple[int, int], int] = {}
        """Exact sums by column and row, where they are larger than ``AMOUNT_MAX``."""

    def grow(self, capacity: int) -> None:
        self.allocatable = _widened(self.allocatable, capacity)
        self.requested = _widened(self.requested, capacity)
        self.scored = _widened(self.scored, capacity)

    def set_allocatable(self, row: int, amounts: Mapping[str, int]) -> None:
        for name in amounts:
            self._column(name)
        self.allocatable[:, row] = 0
        for name, amount in amounts.items():
            self.allocatable[self.index[name], row] = min(amount, AMOUNT_MAX - 1)

    def add(self, row: int, requests: Mapping[str, int], scored: tuple[int, int], count: int) -> None:
        """Count a pod in (``count`` 1) or out (-1)."""
        for name, amount in requests.items():
            column = self._column(name)  # first, because it may replace the table
            _add(self.requested, self._excess, (column, row), count * amount)
        self.requested[PODS, row] += count
        for column, amount in enumerate(scored):
            _add(self.scored, self._excess_scored, (column, row), count * amount)

    def _column(self, name: str) -> int:
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = len(self.index)
            more = np.zeros((1, self.allocatable.shape[1]), np.int64)
            self.allocatable = np.concatenate((self.allocatable, more))
            self.requested = np.concatenate((self.requested, more))
        return found


def _add(table: Amounts, excess: dict[tuple[int, int], int], place: tuple[int, int], amount: int) -> None:
    """Add to one place of a table, which holds ``AMOUNT_MAX`` at most; ``excess`` has the exact sums."""
    total = excess.pop(place, None) if excess else None
    total = (int(table[place]) if total is None else total) + amount
    if total > AMOUNT_MAX:
        excess[place], total = total, AMOUNT_MAX
    table[place] = total


def _widened(table: Amounts, capacity: int) -> Amounts:
    more = np.zeros((table.shape[0], capacity - table.shape[1]), np.int64)
    return np.concatenate((table, more), axis=1)
