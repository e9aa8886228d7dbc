"""NodeName: a pod that names its node goes there or nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, OwnChange, Plugin, PodEvent, Rejected
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) didn't match the requested node name"


class NodeName(Plugin):
    name = "NodeName"
    wakes_on = Aspect.ADDED
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent(0)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        if not pod.spec.node_name:
            return ()
        row = cache.row_of(pod.spec.node_name)
        return (Rejected(REASON, rows != (-1 if row is None else row), unresolvable=True),)
