"""NodePorts: a host port is taken once per node, protocol and address."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.framework import Aspect, OwnChange, Plugin, PodEvent, Rejected
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts

REASON = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(Plugin):
    name = "NodePorts"
    also_at = frozenset({"pre_filter"})
    wakes_on = Aspect.ADDED | Aspect.ROOM
    wakes_on_own = OwnChange.NONE
    wakes_on_pods = PodEvent(0)

    def filter(self, pod: PodFacts, cache: Cache, rows: Rows) -> Sequence[Rejected]:
        taken = {row for port in pod.ports for row in cache.rows_using(port)}
        if not taken:
            return ()
        return (Rejected(REASON, np.isin(rows, np.array(sorted(taken), np.intp))),)
