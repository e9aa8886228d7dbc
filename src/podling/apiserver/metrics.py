"""The server's own counts, under Kubernetes' metric names.

Counting happens on every request and costs two dictionary look-ups; the metrics library is loaded only when
somebody asks for ``/metrics``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from podling.machinery.errors import qualified
from podling.machinery.scheme import RESOURCES
from podling.store.base import Store

BUCKETS_SECONDS = (
    0.005,
    0.025,
    0.05,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.25,
    1.5,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    15,
    20,
    30,
    45,
    60,
)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, str, str, str, str]
"""(verb, group, version, resource, subresource)"""


@dataclass(slots=True)
class _Durations:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))
    total: float = 0.0


class RequestMetrics:
    """Requests by what they asked for and how they ended, and how long they took."""

    def __init__(self, count_objects: Callable[[], Mapping[str, int]]) -> None:
        """``count_objects``: how many objects of each resource (``pods``, ``jobs.batch``) are stored."""
        self._count_objects = count_objects
        self._events: dict[tuple[str, str, str], int] = {}
        self._requests: dict[tuple[Labels, int], int] = {}
        self._durations: dict[Labels, _Durations] = {}
        self.running = 0

    def record(self, labels: Labels, code: int, seconds: float) -> None:
        key = (labels, code)
        self._requests[key] = self._requests.get(key, 0) + 1
        if labels[0] == "watch":
            return
        durations = self._durations.get(labels)
        if durations is None:
            durations = self._durations[labels] = _Durations()
        durations.buckets[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        durations.total += seconds

    def sent(self, group: str, version: str, resource: str, events: int) -> None:
        """Count events that were sent to a watcher."""
        key = (group, version, resource)
        self._events[key] = self._events.get(key, 0) + events

    def collect(self) -> Iterator[Any]:
        """The families, as ``prometheus_client`` collectors give them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        names = ("verb", "group", "version", "resource", "subresource")
        requests = CounterMetricFamily(
            "apiserver_request", "Requests by verb, resource and code.", labels=(*names, "code")
        )
        for (labels, code), count in self._requests.items():
            requests.add_metric((*labels, str(code)), count)
        yield requests
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests other than watches took.", labels=names
        )
        for labels, found in self._durations.items():
            durations.add_metric(labels, _cumulative(found.buckets), found.total)
        yield durations
        running = GaugeMetricFamily("apiserver_current_inflight_requests", "Requests being served.")
        running.add_metric((), self.running)
        yield running
        objects = GaugeMetricFamily(
            "apiserver_storage_objects", "Stored objects by resource.", labels=("resource",)
        )
        for resource, count in self._count_objects().items():
            objects.add_metric((resource,), count)
        yield objects
        events = CounterMetricFamily(
            "apiserver_watch_events", "Events sent to watchers.", labels=("group", "version", "resource")
        )
        for key, count in self._events.items():
            events.add_metric(key, count)
        yield events


def stored_objects(store: Store) -> dict[str, int]:
    """How many objects of each built-in resource there are."""
    kept = (each for each in RESOURCES if each.stored and each.storage is None)
    return {qualified(each.plural, each.group): store.count(each.namespace_prefix("")) for each in kept}


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    total, shown = 0, []
    for bound, count in zip((*map(str, BUCKETS_SECONDS), "+Inf"), buckets, strict=True):
        total += count
        shown.append((bound, float(total)))
    return shown


def exposition(own: RequestMetrics) -> bytes:
    """Everything the process counts, in Prometheus' text format."""
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(own)
    return generate_latest(registry) + generate_latest(REGISTRY)
