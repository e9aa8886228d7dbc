"""PrioritySort: higher priority first, then who waits longer."""

from __future__ import annotations

from podling.scheduler.framework import Plugin
from podling.scheduler.podfacts import PodFacts


class PrioritySort(Plugin):
    name = "PrioritySort"

    def queue_key(self, pod: PodFacts, waiting_since: float) -> tuple[int, float]:
        return -pod.priority, waiting_since
