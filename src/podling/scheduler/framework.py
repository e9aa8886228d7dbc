"""What a plugin is. Names, weights and messages are Kubernetes'; the shape is ours: all nodes at once.

A plugin has no state: its functions read the cache and the pod. A filter is given the rows that are still
in question and says which of them it rejects and why; the first filter to reject a node gives the reason.
A score is 0 to 100 per row, as if normalised already.

When a pod could not be placed, changes in the cluster wake it only if a plugin that rejected it says that
the change may help (Kubernetes' queueing hints). For nodes that question needs no rule of its own: a change
helps if the plugin would now accept the node, or could after a preemption.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Flag, auto
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from podling.scheduler.cache import Cache
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts

Scores = npt.NDArray[np.int64]

SCORE_MAX = 100

ALL = 2**31
"""As many pods as there are: how many a change may help cannot be counted."""


class Rejected(NamedTuple):
    """``where`` the pod may not go (aligned with the rows asked about), and why.

    ``unresolvable``: where removing pods could not change that, so preemption need not be tried.
    """

    reason: str
    where: Mask
    unresolvable: Mask | bool = False


class Hopeless(Exception):
    """No node at all can be right; the text is the whole reason."""


class Aspect(Flag):
    """What can change about a node."""

    NONE = 0
    ADDED = auto()
    ALLOCATABLE = auto()
    LABELS = auto()
    TAINTS = auto()
    """Taints and ``spec.unschedulable``."""
    REMOVED = auto()
    ROOM = auto()
    """A pod on it went, or asks for less, or waits for it no longer."""


class PodEvent(Flag):
    """What can happen to a pod that has a node."""

    ADDED = auto()
    LABELS = auto()
    SHRUNK = auto()
    """It asks for less than before."""
    DELETED = auto()


class PodChange(Struct, frozen=True):
    """``facts``: the pod after it or, for a change of labels asked separately, before it."""

    event: PodEvent
    facts: PodFacts


class Plugin:
    """The base of all plugins. What a plugin does not override it has no part in."""

    name: ClassVar[str]
    weight: ClassVar[int] = 0
    wakes_on: ClassVar[Aspect] = Aspect.NONE
    wakes_on_pods: ClassVar[PodEvent] = PodEvent(0)

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        """The only rows worth asking about; None when that is all of them. Raises ``Hopeless``."""
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        """Where the pod may not go. A node may be rejected for several reasons."""
        return ()

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """How good each row is, 0 to 100; None when the pod is no business of this plugin."""
        return None

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """Return whether a pod this plugin rejected should be tried again after that change (of
        ``wakes_on_pods``)."""
        return False

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """How many pods like this may be helped by a change of these nodes in an aspect of ``wakes_on``.

        ``ALL`` where the plugin accepts a node, and where it might after a preemption. A plugin that
        counts gives ``same_answer``, too.
        """
        rejected = np.zeros(len(rows), np.bool_)
        unresolvable = np.zeros(len(rows), np.bool_)
        for each in self.filter(pod, cache, rows):
            rejected |= each.where
            unresolvable |= each.where & each.unresolvable
        if not rejected.all() or self.victims(pod, rows[~unresolvable], cache):
            return ALL
        return 0

    @staticmethod
    def victims(pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """How many pods on these nodes it could preempt."""
        if pod.spec.preemption_policy == "Never":
            return 0
        others = (other for row in rows.tolist() for other in cache.pods_on(row))
        return sum(other.priority < pod.priority for other in others)

    def same_answer(self, pod: PodFacts) -> Hashable | None:
        """Pods for which this is equal (and not None) get equal answers from the two questions above."""
        return None


def one_row(row: int) -> Rows:
    return np.array([row], np.intp)


def normalised(raw: npt.NDArray[np.int64], *, reverse: bool = False) -> Scores:
    """Scale to 0..100 by the highest; ``reverse`` makes the highest the worst."""
    highest = int(raw.max(initial=0))
    if highest == 0:
        return np.full(len(raw), SCORE_MAX if reverse else 0, np.int64)
    scaled = SCORE_MAX * raw // highest
    return SCORE_MAX - scaled if reverse else scaled
