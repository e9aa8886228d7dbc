"""Failures of background tasks as a metric. Kubernetes has none: there a panic ends the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling import supervisor
from podling.machinery.histograms import counters


class SupervisedTasks:
    """The failures of all background tasks of this process: a ``Collector``."""

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        text = "Background tasks that failed and were started again."
        failures = {(name,): count for name, count in supervisor.failures.items()}
        yield counters("podling_task_failures", text, ("task",), failures)
