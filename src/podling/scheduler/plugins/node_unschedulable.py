"""NodeUnschedulable: nodes that are cordoned take no new pods."""

from __future__ import annotations

from collections.abc import Sequence

from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, OwnChange, Plugin, PodEvent, Rejected
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.plugins.taint_toleration import tolerates
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) were unschedulable"
TAINT = ("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    wakes_on = Aspect.ADDED | Aspect.TAINTS
    wakes_on_own = OwnChange.TOLERATIONS
    wakes_on_pods = PodEvent(0)
    judges_nodes_alone = True

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        cordoned = cache.unschedulable[rows]
        if not cordoned.any() or tolerates(pod.spec.tolerations, TAINT):
            return ()
        return (Rejected(REASON, cordoned, unresolvable=True),)
