"""Settings of the recommender, with upstream's defaults.

Upstream: ``recommender/config/config.go``, ``recommender/model/aggregations_config.go``.
"""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct

from podling_vpa.recommender.histogram import ExponentialBuckets

DAY = timedelta(days=1)
SAMPLE_WEIGHT = 0.1
"""The weight of a sample of CPU at its own time."""
EPSILON = 0.001 * SAMPLE_WEIGHT
"""Small enough for samples that are nearly out of the window."""
GROWTH = 1.05
CPU_BUCKETS = ExponentialBuckets(1000.0, 0.01, GROWTH, EPSILON)
"""Cores: the first bucket is a hundredth, the last begins at 1000 or later."""
MEMORY_BUCKETS = ExponentialBuckets(1e12, 1e7, GROWTH, EPSILON)
"""Bytes: the first bucket is 10 MB, the last begins at 1 TB or later."""


class RecommenderSettings(Struct, frozen=True, kw_only=True):
    """Args: seconds for intervals; shares of one for percentiles and the margin."""

    interval: float = 60.0
    """The time between two rounds: metrics are read, recommendations and checkpoints written."""
    checkpoint_collection: float = 600.0
    """The time between two collections of checkpoints without an autoscaler."""
    aggregate_collection: float = 3600.0
    """The time between two collections of old histograms."""
    margin: float = 0.15
    pod_min_cpu_millicores: float = 25.0
    pod_min_memory_mb: float = 250.0
    """The least recommendation for a pod, in 2**20 bytes; its containers share it."""
    target_percentile: float = 0.9
    lower_percentile: float = 0.5
    upper_percentile: float = 0.95
    confidence_interval: timedelta = DAY
    cpu_half_life: timedelta = DAY
    memory_half_life: timedelta = DAY
    memory_interval: timedelta = DAY
    """The time of which one memory peak of a container counts."""
    memory_interval_count: int = 8
    oom_bump_up_ratio: float = 1.2
    oom_min_bump_up: float = 100.0 * 1024 * 1024


DEFAULT_SETTINGS = RecommenderSettings()
