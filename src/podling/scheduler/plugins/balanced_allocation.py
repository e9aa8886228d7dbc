"""NodeResourcesBalancedAllocation: CPU and memory of a node should fill up alike."""

from __future__ import annotations

import numpy as np

from podling.scheduler.cache import Cache
from podling.scheduler.columns import CPU, MEMORY
from podling.scheduler.framework import SCORE_MAX, Plugin, Scores
from podling.scheduler.labelcolumns import Rows
from podling.scheduler.podfacts import PodFacts


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    weight = 1

    def score(self, pod: PodFacts, cache: Cache, rows: Rows) -> Scores | None:
        """100 less the standard deviation of the two shares; pods that request neither are not scored."""
        cpu, memory = pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
        if not cpu and not memory:
            return None
        resources = cache.resources
        all_cpu, all_memory = resources.allocatable[CPU, rows], resources.allocatable[MEMORY, rows]
        cpu_share = (resources.requested[CPU, rows] + cpu) / np.maximum(all_cpu, 1)
        memory_share = (resources.requested[MEMORY, rows] + memory) / np.maximum(all_memory, 1)
        deviation = np.abs(np.minimum(cpu_share, 1.0) - np.minimum(memory_share, 1.0)) / 2
        # With one of the two unknown there is nothing to balance.
        deviation[(all_cpu == 0) | (all_memory == 0)] = 0.0
        scores: Scores = ((1.0 - deviation) * SCORE_MAX).astype(np.int64)
        return scores
