"""SchedulingGates: a pod with gates does not even wait in the queue."""

from __future__ import annotations

from podling.scheduler.framework import Plugin
from podling.scheduler.podfacts import PodFacts


class SchedulingGates(Plugin):
    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodFacts) -> str:
        gates = pod.spec.scheduling_gates
        if not gates:
            return ""
        return f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]"
