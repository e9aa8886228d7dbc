"""NodeResourcesBalancedAllocation: CPU and memory of a node, or other resources, should fill up alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podling.scheduler.cache import Cache
from podling.scheduler.configuration.plugin_args import NodeResourcesBalancedAllocationArgs, default_args
from podling.scheduler.framework import SCORE_MAX, Plugin, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.plugins.resource_shares import Share, shares
from podling.scheduler.podfacts import PodFacts

Fractions = npt.NDArray[np.float64]


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    arguments = NodeResourcesBalancedAllocationArgs
    also_at = frozenset({"pre_score"})

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None) -> None:
        super().__init__(args or default_args(self.name))

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """100 less the standard deviation of the shares; pods that request none of these are not scored."""
        if not any(pod.requests.get(each.name) for each in self.args.resources):
            return None
        found = tuple(shares(pod, cache, rows, self.args.resources, non_zero=False))
        deviation = _of_two(*found) if len(found) == 2 else _of_many(found, len(rows))
        scores: Scores = ((1.0 - deviation) * SCORE_MAX).astype(np.int64)
        return scores


def _fraction(share: Share) -> Fractions:
    fraction: Fractions = np.minimum(share.requested / np.maximum(share.allocatable, 1), 1.0)
    return fraction


def _of_two(one: Share, other: Share) -> Fractions:
    deviation: Fractions = np.abs(_fraction(one) - _fraction(other)) / 2
    # With one of the two unknown there is nothing to balance.
    deviation[(one.allocatable == 0) | (other.allocatable == 0)] = 0.0
    return deviation


def _of_many(found: tuple[Share, ...], length: int) -> Fractions:
    """Return the standard deviation over the resources that a row has."""
    if not found:
        return np.zeros(length, np.float64)
    there = np.array([share.allocatable > 0 for share in found])
    fractions = np.where(there, np.array([_fraction(share) for share in found]), 0.0)
    number = np.maximum(there.sum(axis=0), 1)
    distances = np.where(there, fractions - fractions.sum(axis=0) / number, 0.0)
    deviation: Fractions = np.sqrt((distances**2).sum(axis=0) / number)
    # Half of the difference, as Kubernetes computes it for two: no rounding error then moves a score.
    largest = np.where(there, fractions, -np.inf).max(axis=0)
    smallest = np.where(there, fractions, np.inf).min(axis=0)
    return np.where(number == 2, (largest - smallest) / 2, deviation)
