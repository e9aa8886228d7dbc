"""SchedulingGates: a pod with gates does not even wait in the queue."""

from __future__ import annotations

from podling.scheduler.podfacts import PodFacts

NAME = "SchedulingGates"


def gates(pod: PodFacts) -> tuple[str, ...]:
    """Return the names of the gates that hold the pod back."""
    return tuple(gate.name for gate in pod.spec.scheduling_gates)
