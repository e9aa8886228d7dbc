"""Samples of one container: CPU goes on at once, of memory one peak for each interval.

Upstream: ``recommender/model/container.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from podling_vpa.recommender.aggregates import Aggregate


class OldOom(Exception):
    """An out-of-memory kill that lies too far back to count."""


class ContainerState:
    """Args: ``aggregate`` returns the history that the container adds to, as it is labelled now."""

    def __init__(self, memory_request: int, aggregate: Callable[[], Aggregate]) -> None:
        self.memory_request = memory_request
        self._aggregate = aggregate
        self._last_cpu: datetime | None = None
        self._last_memory: datetime | None = None
        self.window_end: datetime | None = None
        """The end of the current interval."""
        self._peak = 0
        self._oom_peak = 0

    @property
    def peak(self) -> int:
        """The most memory in the current interval, measured or estimated, in bytes."""
        return max(self._peak, self._oom_peak)

    def add_cpu(self, millicores: int, at: datetime) -> bool:
        """Add a sample of CPU. Return whether it is newer than the last one, and so counts."""
        if millicores < 0 or (self._last_cpu is not None and at <= self._last_cpu):
            return False
        self._aggregate().add_cpu(millicores, at)
        self._last_cpu = at
        return True

    def add_memory(self, memory: int, at: datetime) -> bool:
        """Add a sample of memory. Return whether it is not older than the last one, and so counts."""
        if self._last_memory is not None and at < self._last_memory:
            return False
        return self._take(memory, at, is_oom=False)

    def record_oom(self, at: datetime, requested: int) -> bool:
        """Add the memory that the container is thought to need after an out-of-memory kill.

        Raises ``OldOom``.
        """
        aggregate = self._aggregate()
        # The last sample counts, and not the end of the interval, which may lie far ahead of it.
        if self._last_memory is not None and at < self._last_memory - aggregate.memory_interval:
            raise OldOom(f"OOM event will be discarded - it is too old ({at})")
        used = max(requested, self._peak)
        needed = max(used + int(aggregate.oom_min_bump_up), int(used * aggregate.oom_bump_up_ratio))
        return self._take(needed, at, is_oom=True)

    def _take(self, memory: int, at: datetime, *, is_oom: bool) -> bool:
        if memory < 0:
            return False
        self._last_memory = at
        aggregate, end = self._aggregate(), self.window_end or at
        if at < end:
            if not self.peak or memory <= self.peak:
                self.window_end = end
                return True
            aggregate.subtract_peak(self.peak, end)
        else:
            end += (at - end) // aggregate.memory_interval * aggregate.memory_interval
            end += aggregate.memory_interval
            self._peak = self._oom_peak = 0
        self.window_end = end
        aggregate.add_peak(memory, end)
        if is_oom:
            self._oom_peak = memory
        else:
            self._peak = memory
        return True
