"""TaintToleration: taints keep pods away that do not tolerate them, or make a node less liked.

Many nodes have the same taints: each distinct set of taints is judged once and looked up per node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podling.api.core_v1 import Toleration
from podling.machinery.tolerations import covers
from podling.scheduler.cache import Cache, NodeTaint
from podling.scheduler.framework import Aspect, OwnChange, Plugin, PodEvent, Rejected, Scores, normalised
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) had untolerated taint(s)"

KEEPS_AWAY = ("NoSchedule", "NoExecute")


class TaintToleration(Plugin):
    name = "TaintToleration"
    also_at = frozenset({"pre_score"})
    wakes_on = Aspect.ADDED | Aspect.TAINTS
    wakes_on_own = OwnChange.TOLERATIONS
    wakes_on_pods = PodEvent(0)
    judges_nodes_alone = True

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        tolerations = pod.spec.tolerations
        kept_away = [
            any(taint[2] in KEEPS_AWAY and not tolerates(tolerations, taint) for taint in taints)
            for taints in cache.taint_sets
        ]
        if not any(kept_away):
            return ()
        return (Rejected(REASON, np.array(kept_away)[cache.taints[rows]], unresolvable=True),)

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """The fewer ``PreferNoSchedule`` taints are not tolerated, the better."""
        tolerations = tuple(
            each for each in pod.spec.tolerations if each.effect in (None, "", "PreferNoSchedule")
        )
        disliked = [
            sum(taint[2] == "PreferNoSchedule" and not tolerates(tolerations, taint) for taint in taints)
            for taints in cache.taint_sets
        ]
        if not any(disliked):
            return None
        return normalised(np.array(disliked, np.int64)[cache.taints[rows]], reverse=True)


def tolerates(tolerations: Sequence[Toleration], taint: NodeTaint) -> bool:
    return any(covers(toleration, *taint) for toleration in tolerations)
