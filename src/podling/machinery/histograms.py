"""Histograms that cost almost nothing until they are read: only then the metrics library is loaded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

REQUEST_SECONDS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip
"""The buckets in which Kubernetes counts how long requests take."""


Values = TypeVar("Values", bound=tuple[str, ...])
"""The values of a family's labels."""


class Histogram:
    """Counts of values below each of ``bounds``, and their sum."""

    __slots__ = ("_bounds", "_buckets", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._buckets = [0] * (len(bounds) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        return sum(self._buckets)

    def observe(self, value: float) -> None:
        self._buckets[bisect_left(self._bounds, value)] += 1
        self.total += value

    def with_more(self, value: float, number: int, total: float | None = None) -> Histogram:
        """Return a histogram that has observed ``value`` so many times more, in sum ``total``."""
        found = Histogram(self._bounds)
        found._buckets = [*self._buckets]
        found._buckets[bisect_left(self._bounds, value)] += number
        found.total = self.total + (value * number if total is None else total)
        return found

    def cumulative(self) -> list[tuple[str, float]]:
        """For each bound, how many values are not above it."""
        found, total = [], 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._buckets, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


def histograms(name: str, text: str, labels: Iterable[str], found: Mapping[Values, Histogram]) -> Any:
    """The family ``name`` of ``prometheus_client``, with the histogram of each combination of labels."""
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, text, labels=tuple(labels))
    for values, histogram in found.items():
        family.add_metric(values, histogram.cumulative(), histogram.total)
    return family


def summaries(name: str, text: str, labels: Iterable[str], found: Mapping[Values, Histogram]) -> Any:
    """Return the number of values, and their sum."""
    from prometheus_client.core import SummaryMetricFamily

    family = SummaryMetricFamily(name, text, labels=tuple(labels))
    for values, histogram in found.items():
        family.add_metric(values, histogram.count, histogram.total)
    return family


def untyped(name: str, text: str, labels: Iterable[str], found: Mapping[Values, float]) -> Any:
    """Return a family of counts whose name does not end with ``_total``, which counters must have."""
    from prometheus_client.core import UntypedMetricFamily

    family = UntypedMetricFamily(name, text, labels=tuple(labels))
    for values, count in found.items():
        family.add_metric(values, count)
    return family


def counters(name: str, text: str, labels: Iterable[str], found: Mapping[Values, float]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, text, labels=tuple(labels))
    for values, count in found.items():
        family.add_metric(values, count)
    return family


def gauges(name: str, text: str, labels: Iterable[str], found: Mapping[Values, float]) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=tuple(labels))
    for values, value in found.items():
        family.add_metric(values, value)
    return family
