"""Counters of one kubelet, for ``/metrics``: events that leave no trace in pods and containers.

Names, labels and help texts: ``pkg/kubelet/metrics/metrics.go``, ``pkg/kubelet/nodeshutdown``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

RESIZE_MILLISECONDS = tuple(10.0 * 2**step for step in range(12))
"""The bounds of ``kubelet_pod_resize_duration_milliseconds``."""


class Histogram:
    """Observations in buckets, by label."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts: dict[str, list[int]] = {}
        self.sums: dict[str, float] = {}

    def observe(self, label: str, number: float) -> None:
        counts = self.counts.setdefault(label, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, number)] += 1
        self.sums[label] = self.sums.get(label, 0.0) + number


class KubeletMetrics:
    """The counters. Labels are in the order of the fields' names."""

    def __init__(self) -> None:
        self.requested_resizes: Counter[tuple[str, str, str]] = Counter()
        """By operation, requirement and resource."""
        self.infeasible_resizes: Counter[str] = Counter()
        """By the reason's detail."""
        self.deferred_accepted: Counter[str] = Counter()
        """By what led to the retry."""
        self.resize_milliseconds = Histogram(RESIZE_MILLISECONDS)
        """By success."""
        self.started_pods = 0
        self.started_pods_errors = 0
        self.started_with_users = 0
        """Pods with a user namespace of their own."""
        self.started_with_users_errors = 0
        self.started_containers: Counter[str] = Counter()
        """By the type of container."""
        self.started_containers_errors: Counter[tuple[str, str]] = Counter()
        """By the reason and the type of container."""
        self.restarted_pods: Counter[bool] = Counter()
        """Pods that came back with their UID while they ended, by whether they are static."""
        self.orphans = 0
        """Pods that only the runtime had."""
        self.terminated_containers: Counter[tuple[str, str, str]] = Counter()
        """By the type of container, exit code and reason."""
        self.evictions: Counter[str] = Counter()
        """By signal."""
        self.preemptions: Counter[str] = Counter()
        """By the resource that was short."""
        self.shutdown_started: float | None = None
        """The last graceful shutdown's beginning, in seconds since 1970."""
        self.shutdown_ended: float | None = None

    def count_start(self, *, own_users: bool, failed: bool = False) -> None:
        """Count the start of a pod, or the failure of one; ``own_users``: it has a user namespace."""
        self.started_pods += not failed
        self.started_pods_errors += failed
        if own_users:
            self.started_with_users += not failed
            self.started_with_users_errors += failed
