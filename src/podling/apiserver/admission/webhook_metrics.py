"""Metrics of the calls of webhooks and their answers, under Kubernetes' names.

Source of names and labels: ``apiserver/pkg/admission/metrics``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling.machinery.histograms import Histogram, counters, histograms

CALL_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25)
OK, MAX_CODE = 200, 600
CALL_FAILED, NO_ERROR = "calling_webhook_error", "no_error"
_NAMES = ("name", "operation", "rejected", "type")


class WebhookMetrics:
    """The counts of one plugin. ``step``: ``admit`` or ``validating``."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._durations: dict[tuple[str, str, str, str], Histogram] = {}
        self._requests: dict[tuple[str, str, str, str, str], int] = {}
        self._rejections: dict[tuple[str, str, str, str, str], int] = {}
        self._failed_open: dict[tuple[str, str], int] = {}

    def called(self, name: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        """Count a call. ``code``: the status of the answer; 0 for a cancelled call."""
        counted = (name, operation, str(rejected).lower(), self._step, str(min(code, MAX_CODE)))
        self._requests[counted] = self._requests.get(counted, 0) + 1
        key = (name, operation, str(rejected).lower(), self._step)
        found = self._durations.get(key)
        if found is None:
            found = self._durations[key] = Histogram(CALL_SECONDS)
        found.observe(seconds)

    def rejected(self, name: str, operation: str, error: str, code: int) -> None:
        """Count a refusal by the webhook itself, or because the call failed."""
        key = (name, operation, self._step, error, str(min(code, MAX_CODE)))
        self._rejections[key] = self._rejections.get(key, 0) + 1

    def failed_open(self, name: str) -> None:
        """Count a failed call that was ignored."""
        key = (name, self._step)
        self._failed_open[key] = self._failed_open.get(key, 0) + 1

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        name = "apiserver_admission_webhook"
        durations, open_ = self._durations, self._failed_open
        text = (
            "[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for "
            "each operation and API resource and type (validate or admit)."
        )
        yield histograms(f"{name}_admission_duration_seconds", text, _NAMES, durations)
        bounded = "Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded."
        text = (
            "[ALPHA] Admission webhook request total, identified by name and broken out for each admission "
            "type (validating or admit) and operation. Additional labels specify whether the request was "
            f"rejected or not and an HTTP status code. {bounded}"
        )
        yield counters(f"{name}_request", text, (*_NAMES, "code"), self._requests)
        names = ("name", "operation", "type", "error_type", "rejection_code")
        text = (
            "[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission "
            "type (validating or admit) and operation. Additional labels specify an error type "
            "(calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) "
            "and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status "
            "code (honored by the apiserver when the code is greater or equal to 400). "
            f"{bounded}"
        )
        yield counters(f"{name}_rejection_count", text, names, self._rejections)
        text = (
            "[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission "
            "type (validating or admit)."
        )
        yield counters(f"{name}_fail_open_count", text, ("name", "type"), open_)
