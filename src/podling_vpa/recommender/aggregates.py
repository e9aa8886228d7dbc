"""The history of containers of one name in pods of the same labels, and its checkpoints.

Upstream: ``recommender/model/aggregate_container_state.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from podling.clock import seconds_precision
from podling_vpa.names import MEMORY, RESOURCES
from podling_vpa.recommender.histogram import DecayingHistogram, UnreadableCheckpoint
from podling_vpa.recommender.settings import (
    CPU_BUCKETS,
    MEMORY_BUCKETS,
    SAMPLE_WEIGHT,
    RecommenderSettings,
)
from podling_vpa.types import CheckpointStatus, ContainerPolicy, quantity_of

CHECKPOINT_VERSION = "v3"


class Aggregate:
    """Histograms of CPU and of memory peaks. First and last sample, and their count, are those of CPU."""

    def __init__(self, settings: RecommenderSettings, created: datetime) -> None:
        self.cpu = DecayingHistogram(CPU_BUCKETS, settings.cpu_half_life)
        self.memory = DecayingHistogram(MEMORY_BUCKETS, settings.memory_half_life)
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.count = 0
        self._created = created
        self.resources: tuple[str, ...] = RESOURCES
        """The controlled resources."""
        self.oom_bump_up_ratio = settings.oom_bump_up_ratio
        self.oom_min_bump_up = settings.oom_min_bump_up
        self.memory_interval = settings.memory_interval
        self._memory_interval_count = settings.memory_interval_count

    def follow(self, policy: ContainerPolicy | None, *, per_autoscaler: bool) -> None:
        """Take the settings of a container policy.

        Args:
            per_autoscaler: the feature gate ``PerVPAConfig``.
        """
        self.resources = RESOURCES
        if policy is None:
            return
        if policy.controlled_resources is not None:
            self.resources = tuple(each for each in policy.controlled_resources if each in RESOURCES)
        if not per_autoscaler:
            return
        if policy.oom_bump_up_ratio is not None:
            self.oom_bump_up_ratio = quantity_of(policy.oom_bump_up_ratio).milli_value / 1000
        if policy.oom_min_bump_up is not None:
            self.oom_min_bump_up = quantity_of(policy.oom_min_bump_up).milli_value / 1000
        if policy.memory_aggregation_interval_seconds is not None:
            self.memory_interval = timedelta(seconds=policy.memory_aggregation_interval_seconds)
        if policy.memory_aggregation_interval_count is not None:
            self._memory_interval_count = policy.memory_aggregation_interval_count

    def add_cpu(self, millicores: int, at: datetime) -> None:
        self.cpu.add(millicores / 1000, SAMPLE_WEIGHT, at)
        if self.last is None or at > self.last:
            self.last = at
        if self.first is None or at < self.first:
            self.first = at
        self.count += 1

    def add_peak(self, memory: int, at: datetime) -> None:
        self.memory.add(float(memory), 1.0, at)

    def subtract_peak(self, memory: int, at: datetime) -> None:
        self.memory.subtract(float(memory), 1.0, at)

    def merge(self, other: Aggregate) -> None:
        self.cpu.merge(other.cpu)
        self.memory.merge(other.memory)
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        self.first, self.last = min(firsts, default=None), max(lasts, default=None)
        self.count += other.count

    def is_expired(self, now: datetime) -> bool:
        """Return whether the last sample, or without one the creation, lies before the memory window."""
        since = self.last if self.count and self.last is not None else self._created
        return now - since >= self.memory_interval * self._memory_interval_count

    def checkpoint(self, now: datetime) -> CheckpointStatus:
        return CheckpointStatus(
            last_update_time=seconds_precision(now),
            version=CHECKPOINT_VERSION,
            cpu_histogram=self.cpu.checkpoint(),
            memory_histogram=self.memory.checkpoint(),
            first_sample_start=seconds_precision(self.first) if self.first is not None else None,
            last_sample_start=seconds_precision(self.last) if self.last is not None else None,
            total_samples_count=self.count,
        )

    def load(self, saved: CheckpointStatus) -> None:
        """Take the history of a checkpoint. Raises ``UnreadableCheckpoint``."""
        if saved.version != CHECKPOINT_VERSION:
            raise UnreadableCheckpoint(f"unsupported checkpoint version {saved.version}")
        self.count = saved.total_samples_count
        self.first, self.last = saved.first_sample_start, saved.last_sample_start
        self.memory.load(saved.memory_histogram)
        self.cpu.load(saved.cpu_histogram)

    def estimates(self, share: float) -> Mapping[str, float]:
        """Return the percentiles: cores of CPU, bytes of memory."""
        return {
            resource: (self.memory if resource == MEMORY else self.cpu).percentile(share)
            for resource in RESOURCES
        }
