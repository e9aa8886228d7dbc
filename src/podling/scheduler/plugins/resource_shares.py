"""Requested and allocatable amounts of resources that plugins score by, and the scoring strategies. Pure.

Containers without requests count with a small amount of CPU and memory, so that a hundred of them do not go
to one node. Upstream: ``pkg/scheduler/framework/plugins/noderesources``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from podling.scheduler.cache import Cache
from podling.scheduler.columns import FIXED, Amounts
from podling.scheduler.configuration.plugin_args import (
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from podling.scheduler.framework import SCORE_MAX, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

NON_ZERO = ("cpu", "memory")
"""The resources of which a container counts with some amount, in the order of ``PodFacts.scored``."""

CUSTOM_SCORE_MAX = 10


class Share(Struct, frozen=True):
    """A resource of some rows: what is requested with the pod on it, and what there is."""

    requested: Amounts
    allocatable: Amounts
    weight: int


def shares(
    pod: PodFacts, cache: Cache, rows: Rows, resources: Sequence[ResourceSpec], *, non_zero: bool
) -> Iterator[Share]:
    """Yield the resources that count for a pod: extended ones only if it requests them."""
    columns = cache.resources
    for resource in resources:
        column, amount = columns.index.get(resource.name), pod.requests.get(resource.name, 0)
        if column is None or (not amount and resource.name not in FIXED):
            continue
        if non_zero and resource.name in NON_ZERO:
            number = NON_ZERO.index(resource.name)
            requested = columns.scored[number, rows] + pod.scored[number]
        else:
            requested = columns.requested[column, rows] + amount
        yield Share(requested, columns.allocatable[column, rows], resource.weight)


Strategy = Callable[[Amounts, Amounts], Scores]
"""Returns the scores of requested and allocatable amounts of one resource."""


def strategy_of(chosen: ScoringStrategy) -> Callable[[Sequence[Share], int], Scores]:
    """Return the function that scores rows by the shares of their resources."""
    if chosen.type == REQUESTED_TO_CAPACITY_RATIO:
        ratio = chosen.requested_to_capacity_ratio
        return _by_ratio(broken_linear(ratio.shape if ratio else ()))
    each = _most_allocated if chosen.type == MOST_ALLOCATED else _least_allocated
    return lambda found, length: _weighted(found, length, each)


def _weighted(found: Sequence[Share], length: int, each: Strategy) -> Scores:
    total, weights = np.zeros(length, np.int64), np.zeros(length, np.int64)
    for share in found:
        total += share.weight * each(share.requested, share.allocatable)
        weights += share.weight * (share.allocatable > 0)
    return total // np.maximum(weights, 1)


def _least_allocated(requested: Amounts, allocatable: Amounts) -> Scores:
    left: Amounts = np.maximum(allocatable - requested, 0)
    score: Scores = left * SCORE_MAX // np.maximum(allocatable, 1)
    return score


def _most_allocated(requested: Amounts, allocatable: Amounts) -> Scores:
    return utilization(requested, allocatable)


def utilization(requested: Amounts, allocatable: Amounts) -> Scores:
    """Return whole percents, at most 100; 0 where there is nothing."""
    score: Scores = np.minimum(requested, allocatable) * SCORE_MAX // np.maximum(allocatable, 1)
    return score


def _by_ratio(table: Scores) -> Callable[[Sequence[Share], int], Scores]:
    """Return the score of each utilisation of 0 to 100 % looked up; resources that score 0 do not count."""

    def score(found: Sequence[Share], length: int) -> Scores:
        total, weights = np.zeros(length, np.int64), np.zeros(length, np.int64)
        for share in found:
            there = share.allocatable > 0
            used = np.where(share.requested > share.allocatable, SCORE_MAX, 0)
            used = np.maximum(used, utilization(share.requested, share.allocatable))
            scores = np.where(there, table[used], 0)
            total += share.weight * scores
            weights += share.weight * (scores > 0)
        rounded: Scores = np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)
        return rounded

    return score


def broken_linear(shape: Sequence[UtilizationShapePoint]) -> npt.NDArray[np.int64]:
    """Return the score of each utilisation of 0 to 100 %, along lines between the points of a shape."""
    points = [(each.utilization, each.score * SCORE_MAX // CUSTOM_SCORE_MAX) for each in shape]
    return np.array([_on_line(points, percent) for percent in range(SCORE_MAX + 1)], np.int64)


def _on_line(points: Sequence[tuple[int, int]], percent: int) -> int:
    before: tuple[int, int] | None = None
    for at, score in points:
        if percent <= at:
            if before is None:
                return score
            # Go divides towards zero.
            return before[1] + int((score - before[1]) * (percent - before[0]) / (at - before[0]))
        before = (at, score)
    return before[1] if before else 0
