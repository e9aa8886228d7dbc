"""Settings of the updater, with upstream's defaults. Upstream: ``updater/config/config.go``."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct


class UpdaterSettings(Struct, frozen=True, kw_only=True):
    interval: float = 60.0
    """Seconds between two rounds."""
    min_replicas: int = 2
    """Pods that a controller must have for one to be updated; ``minReplicas`` of an autoscaler precedes."""
    tolerance: float = 0.5
    """The share of a controller's replicas that may be missing because of updates."""
    rate: float = -1.0
    """Evictions a second, and resizes a second; without a limit if not positive."""
    burst: int = 1
    threshold: float = 0.1
    """The least change, as a share, that is worth an update within the recommended bounds."""
    lifetime: timedelta = timedelta(hours=12)
    """The age from which pods are updated within the recommended bounds."""
    oom_threshold: timedelta = timedelta(minutes=10)
    """A container that ran out of memory in less time is updated."""


DEFAULT_SETTINGS = UpdaterSettings()
DEFERRED_TIMEOUT = timedelta(minutes=5)
"""The time after which a deferred resize gives way to an eviction."""
IN_PROGRESS_TIMEOUT = timedelta(hours=1)
"""The time after which a resize that does not end gives way to an eviction."""
