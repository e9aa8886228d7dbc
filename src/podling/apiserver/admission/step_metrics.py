"""Metrics of the durations of both admission steps, under Kubernetes' names.

Source of names, labels and buckets: ``apiserver/pkg/admission/metrics``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling.machinery.histograms import Histogram, histograms, summaries

STEP_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_NAME, _LABELS = "apiserver_admission_step_admission_duration_seconds", ("type", "operation", "rejected")


class StepMetrics:
    def __init__(self) -> None:
        self._durations: dict[tuple[str, str, str], Histogram] = {}

    def of(self, step: str, operation: str, *, rejected: bool) -> Histogram:
        """Return the histogram of a step's durations in seconds. ``step``: ``admit`` or ``validate``."""
        key = (step, operation, "true" if rejected else "false")
        return self._durations.setdefault(key, Histogram(STEP_SECONDS))

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        found = {labels: durations for labels, durations in self._durations.items() if durations.count}
        text = "in seconds, broken out for each operation and API resource and step type (validate or admit)."
        yield histograms(_NAME, f"[STABLE] Admission sub-step latency histogram {text}", _LABELS, found)
        summary = f"[ALPHA] Admission sub-step latency summary {text}"
        yield summaries(f"{_NAME}_summary", summary, _LABELS, found)
