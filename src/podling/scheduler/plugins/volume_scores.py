"""Scores of nodes by how much of their storage the new claims of a pod would use. Pure.

The requests of the claims of a storage class are compared with the size of their volumes or, on nodes where
all volumes are to be made, with the capacity that the driver reports. The score is the mean over classes.

Upstream: ``scorer.go`` and ``Score`` in ``pkg/scheduler/framework/plugins/volumebinding``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from podling.scheduler.columns import Amounts
from podling.scheduler.framework import SCORE_MAX, Scores
from podling.scheduler.labelcolumns import Mask
from podling.scheduler.plugins.resource_shares import utilization


class ClassUse(Struct, frozen=True):
    """The use of a storage class by row, as far as ``where`` says that the pod uses it there."""

    requested: Amounts
    capacity: Amounts
    where: Mask


class StorageUse:
    """The use of storage classes by the claims of a pod, over some rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._classes: dict[str, ClassUse] = {}

    def add(
        self, storage_class: str, requested: int, capacity: int | Amounts, where: Mask, *, shared: bool
    ) -> None:
        """Count a claim. ``shared``: the claims of a class use one capacity, not each that of its volume."""
        before = self._classes.get(storage_class) or self._unused()
        held = np.where(where, capacity, 0)
        self._classes[storage_class] = ClassUse(
            before.requested + np.where(where, requested, 0),
            np.where(where, held, before.capacity) if shared else before.capacity + held,
            before.where | where,
        )

    def _unused(self) -> ClassUse:
        none = np.zeros(self._rows, np.int64)
        return ClassUse(none, none, np.zeros(self._rows, np.bool_))

    def scores(self, table: Scores) -> Scores:
        """Return the score of each row. ``table``: the scores of a use of 0 to 100 %."""
        return mean_scores(self._classes.values(), table, self._rows)


def mean_scores(uses: Iterable[ClassUse], table: Scores, rows: int) -> Scores:
    """Return the mean score of the classes that are used on each row, 0 where none is."""
    total, number = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for use in uses:
        # A class whose capacity is unknown or exceeded counts as full.
        is_full = (use.capacity == 0) | (use.requested > use.capacity)
        percent = np.where(is_full, SCORE_MAX, utilization(use.requested, use.capacity))
        total += np.where(use.where, table[percent], 0)
        number += use.where
    rounded: Scores = np.floor(total / np.maximum(number, 1) + 0.5).astype(np.int64)
    return rounded
