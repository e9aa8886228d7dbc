"""The interface of plugins. Names, weights and messages are Kubernetes'; ours take all nodes at once.

A plugin has no state: its functions read the cache and the pod. A filter receives the rows that are still
candidates and returns those that it rejects, with reasons; the first filter to reject a node gives the
reason. A score is 0 to 100 per row, as if normalised already.

When a pod could not be scheduled, changes in the cluster wake it only if a plugin that rejected it returns
that the change may help (Kubernetes' queueing hints). For nodes this needs no rule of its own: a change helps
if the plugin would now accept the node, or could after a preemption.
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
    """The rejected rows (``where``, aligned with the candidate rows), and the reason.

    ``unresolvable``: where removing pods could not change that, so preemption need not be tried.
    """

    reason: str
    where: Mask
    unresolvable: Mask | bool = False


class Hopeless(Exception):
    """No node at all can be right; the text is the whole reason."""


class Aspect(Flag):
    """An aspect of a node that can change."""

    NONE = 0
    ADDED = auto()
    ALLOCATABLE = auto()
    LABELS = auto()
    TAINTS = auto()
    """Taints and ``spec.unschedulable``."""
    REMOVED = auto()
    ROOM = auto()
    """A pod on it was deleted, requests less, or is no longer nominated to it."""


class PodEvent(Flag):
    """An event of a bound pod."""

    ADDED = auto()
    LABELS = auto()
    SHRUNK = auto()
    """It requests less than before."""
    DELETED = auto()


class PodChange(Struct, frozen=True):
    """``facts``: the pod after it or, for a change of labels checked separately, before it."""

    event: PodEvent
    facts: PodFacts


class Plugin:
    """The base of all plugins. What a plugin does not override it has no part in."""

    name: ClassVar[str]
    weight: ClassVar[int] = 0
    wakes_on: ClassVar[Aspect] = Aspect.NONE
    wakes_on_pods: ClassVar[PodEvent] = PodEvent(0)

    def candidates(self, pod: PodFacts, cache: Cache) -> Rows | None:
        """Return the only candidate rows; None for all. Raises ``Hopeless``."""
        return None

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        """Return the rejected rows. A node may be rejected for several reasons."""
        return ()

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """Return the score of each row, 0 to 100; None when the plugin does not concern the pod."""
        return None

    def wakes_for_pod(self, pod: PodFacts, change: PodChange, cache: Cache) -> bool:
        """Return whether a pod this plugin rejected should be tried again after that change (of
        ``wakes_on_pods``)."""
        return False

    def wakes_for_nodes(self, pod: PodFacts, rows: Rows, cache: Cache) -> int:
        """Return the number of pods like this that a change of these nodes (``wakes_on``) may help.

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
        """Return the number of pods on these nodes that it could preempt."""
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
