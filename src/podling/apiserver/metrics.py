"""The server's own counts, under Kubernetes' metric names and with its labels.

Counting happens on every request and costs a few dictionary look-ups; the metrics library is loaded only when
somebody asks for ``/metrics``. Source of names and labels: ``apiserver/pkg/endpoints/metrics``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from podling.apiserver.requests import CONNECTS
from podling.client.local import Target
from podling.machinery.errors import qualified
from podling.machinery.scheme import RESOURCES, Resource
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

COMPONENT = "apiserver"
_VERBS = {"create": "POST", "update": "PUT"}
_CHANGES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_HEALTH = ("/healthz", "/livez", "/readyz")


class Labels(NamedTuple):
    """What a request asked for."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    """How much of a resource: ``resource`` (one object), ``namespace`` or ``cluster``."""
    dry_run: str = ""

    @property
    def long_running(self) -> bool:
        """Whether it may go on for as long as its client likes."""
        return self.verb in ("WATCH", "CONNECT") or self.subresource == "log"


def path_labels(method: str, path: str) -> Labels:
    """A request for something that is no resource: only a few paths are told apart."""
    return Labels("GET" if method == "HEAD" else method, subresource=path if path in _HEALTH else "")


def target_labels(verb: str, target: Target, *, applies: bool = False, dry_run: bool = False) -> Labels:
    """A request for a resource, by the verb that authorisation knows."""
    resource, shown = target.resource, _VERBS.get(verb) or verb.upper()
    if target.subresource in CONNECTS:
        shown = "CONNECT"
    elif applies:
        shown = "APPLY"
    one = bool(target.name) or verb == "create"
    scope = "resource" if one else "namespace" if target.namespace else "cluster"
    head = (resource.group, resource.version, resource.plural, target.subresource)
    return Labels(shown, *head, scope, "All" if dry_run else "")


@dataclass(slots=True)
class _Durations:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))
    total: float = 0.0


class RequestMetrics:
    """Requests by what they asked for and how they ended, and how long they took."""

    def __init__(self, count_objects: Callable[[], Mapping[tuple[str, str], int]]) -> None:
        """``count_objects``: how many objects of each resource (``("batch", "jobs")``) are stored."""
        self._count_objects = count_objects
        self._events: dict[tuple[str, str, str], int] = {}
        self._requests: dict[tuple[Labels, int], int] = {}
        self._durations: dict[Labels, _Durations] = {}
        self._running = {"mutating": 0, "readOnly": 0}
        self._long_running: dict[Labels, int] = {}

    def begin(self, labels: Labels, change: int = 1) -> None:
        """Count a request that is being served."""
        if labels.long_running:
            self._long_running[labels] = self._long_running.get(labels, 0) + change
        else:
            self._running["mutating" if labels.verb in _CHANGES else "readOnly"] += change

    def end(self, labels: Labels, code: int, seconds: float) -> None:
        """Count how a request that was begun has ended."""
        self.begin(labels, -1)
        key = (labels, code)
        self._requests[key] = self._requests.get(key, 0) + 1
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
        yield from self._ended()
        yield from self._under_way()
        yield from self._kept()

    def _ended(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        names = (*Labels._fields, "component")
        requests = CounterMetricFamily(
            "apiserver_request", "Requests by verb, resource and code.", labels=(*names, "code")
        )
        for (labels, code), count in self._requests.items():
            requests.add_metric((*labels, COMPONENT, str(code)), count)
        yield requests
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests took.", labels=names
        )
        for labels, found in self._durations.items():
            durations.add_metric((*labels, COMPONENT), _cumulative(found.buckets), found.total)
        yield durations

    def _under_way(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        running = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Requests being served, but for those that may go on for long.",
            labels=("request_kind",),
        )
        for kind, count in self._running.items():
            running.add_metric((kind,), count)
        yield running
        names = (*Labels._fields[:-1], "component")
        long = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Watches and streams being served.", labels=names
        )
        for labels, count in self._long_running.items():
            long.add_metric((*labels[:-1], COMPONENT), count)
        yield long

    def _kept(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        objects = GaugeMetricFamily(
            "apiserver_resource_objects", "Stored objects by resource.", labels=("group", "resource")
        )
        old = GaugeMetricFamily(
            "apiserver_storage_objects",
            "As apiserver_resource_objects, by its old name.",
            labels=("resource",),
        )
        for (group, resource), count in self._count_objects().items():
            objects.add_metric((group, resource), count)
            old.add_metric((qualified(resource, group),), count)
        yield objects
        yield old
        events = CounterMetricFamily(
            "apiserver_watch_events", "Events sent to watchers.", labels=("group", "version", "resource")
        )
        for key, count in self._events.items():
            events.add_metric(key, count)
        yield events


def stored_objects(store: Store, custom: Iterable[Resource]) -> dict[tuple[str, str], int]:
    """How many objects of each resource there are. ``custom``: the resources beside the built-in ones."""
    kept = (each for each in RESOURCES if each.stored and each.storage is None)
    return {(each.group, each.plural): store.count(each.namespace_prefix("")) for each in (*kept, *custom)}


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
