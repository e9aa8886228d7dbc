"""The metrics of controllers that publish the cluster's certificate: their syncs, by the answer's code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from podling import clock
from podling.machinery.errors import ApiError
from podling.machinery.histograms import Histogram, counters, histograms

SYNC_SECONDS = tuple(0.001 * 2**power for power in range(15))


class SyncMetrics:
    """Counts syncs and their seconds.

    Args:
        name: the metrics' common beginning.
        count_help: the text of the counter.
        seconds_help: the text of the histogram.
    """

    def __init__(self, name: str, count_help: str, seconds_help: str) -> None:
        self._name = name
        self._count_help, self._seconds_help = count_help, seconds_help
        self._syncs: dict[tuple[str], Histogram] = {}

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the block as a sync."""
        began, code = clock.monotonic(), "200"
        try:
            yield
        except ApiError as error:
            code = str(error.status.code or 500)
            raise
        finally:
            syncs = self._syncs.setdefault((code,), Histogram(SYNC_SECONDS))
            syncs.observe(clock.monotonic() - began)

    def families(self) -> Iterator[Any]:
        """Yield the families of ``prometheus_client``."""
        counts = {code: syncs.count for code, syncs in self._syncs.items()}
        yield counters(f"{self._name}_sync", self._count_help, ("code",), counts)
        yield histograms(f"{self._name}_sync_duration_seconds", self._seconds_help, ("code",), self._syncs)
