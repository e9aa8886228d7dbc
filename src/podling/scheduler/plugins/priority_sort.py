"""PrioritySort: higher priority first, then who waits longer."""

from __future__ import annotations


def sort_key(priority: int, waiting_since: float, arrival: int) -> tuple[int, float, int]:
    """Smallest goes first. ``arrival`` numbers the pods, so that equals keep their order."""
    return -priority, waiting_since, arrival
