"""The server's own metrics, with the names and labels of Kubernetes.

Counting happens on every request and costs a few dictionary look-ups. The metrics library is loaded at the
first request for ``/metrics``. Source of names and labels: ``apiserver/pkg/endpoints/metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from podling.apiserver.http.resource_paths import CONNECTS
from podling.client.requests import Target
from podling.machinery.errors import qualified
from podling.machinery.histograms import REQUEST_SECONDS, Histogram, counters, gauges, histograms
from podling.machinery.scheme import RESOURCES, Resource
from podling.store.base import Store

T = TypeVar("T")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS_WITHOUT_TOTAL = (
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_fail_open_count",
)
"""Counters of Kubernetes with names that the library does not accept for counters."""

HISTOGRAMS_AT_ONCE = 64
"""Histograms in one family: to make one takes 50 us. ``exposition`` joins families of one name."""

LABELS_MAX = 4096
"""The labels of so many kinds of requests are remembered."""
COMPONENT = "apiserver"
_VERBS = {"create": "POST", "update": "PUT"}
_CHANGES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_HEALTH = ("/healthz", "/livez", "/readyz")


class Labels(NamedTuple):
    """Metric labels of a request."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    """Scope of the request: ``resource`` (one object), ``namespace`` or ``cluster``."""
    dry_run: str = ""

    @property
    def long_running(self) -> bool:
        """True if it may go on for as long as its client likes."""
        return self.verb in ("WATCH", "CONNECT") or self.subresource == "log"


def path_labels(method: str, path: str) -> Labels:
    """Return the labels of a non-resource request. Only a few paths have labels of their own."""
    return Labels("GET" if method == "HEAD" else method, subresource=path if path in _HEALTH else "")


def target_labels(verb: str, target: Target, *, applies: bool = False, dry_run: bool = False) -> Labels:
    """Return the labels of a request for a resource, by the verb that authorisation knows."""
    one = bool(target.name) or verb == "create"
    scope = "resource" if one else "namespace" if target.namespace else "cluster"
    return _labels(verb, target.resource, target.subresource, scope, applies, dry_run)


@lru_cache(LABELS_MAX)
def _labels(
    verb: str, resource: Resource, subresource: str, scope: str, applies: bool, dry_run: bool
) -> Labels:
    shown = _VERBS.get(verb) or verb.upper()
    if subresource in CONNECTS:
        shown = "CONNECT"
    elif applies:
        shown = "APPLY"
    head = (resource.group, resource.version, resource.plural, subresource)
    return Labels(shown, *head, scope, "All" if dry_run else "")


class RequestCounts:
    """Counts and durations of the requests with the same labels."""

    __slots__ = ("by_code", "durations", "labels", "running", "terminations")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.running = 0
        """The requests that are being served."""
        self.by_code: dict[int, int] = {}
        """The requests that have ended, by status code."""
        self.terminations: dict[int, int] = {}
        """Those of them that the server ended to protect itself."""
        self.durations = Histogram(REQUEST_SECONDS)

    def begin(self) -> None:
        """Count a request that is being served."""
        self.running += 1

    def end(self, code: int, seconds: float, *, terminated: bool = False) -> None:
        """Count how a request that was begun has ended; ``terminated``: the server protected itself."""
        self.running -= 1
        self.by_code[code] = self.by_code.get(code, 0) + 1
        if terminated:
            self.terminations[code] = self.terminations.get(code, 0) + 1
        self.durations.observe(seconds)


class RequestMetrics:
    """Counts and durations of requests, by labels and status code."""

    def __init__(self, count_objects: Callable[[], Mapping[tuple[str, str], int]]) -> None:
        """``count_objects``: how many objects of each resource (``("batch", "jobs")``) are stored."""
        self._count_objects = count_objects
        self._events: dict[tuple[str, str, str], int] = {}
        self._requests: dict[Labels, RequestCounts] = {}

    def of(self, labels: Labels) -> RequestCounts:
        """Return the counts of the requests with these labels, to be kept for further requests."""
        found = self._requests.get(labels)
        if found is None:
            found = self._requests[labels] = RequestCounts(labels)
        return found

    def sent(self, group: str, version: str, resource: str, events: int) -> None:
        """Count events that were sent to a watcher."""
        key = (group, version, resource)
        self._events[key] = self._events.get(key, 0) + events

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        yield from self._ended()
        yield from self._under_way()
        yield from self._kept()

    def _ended(self) -> Iterator[Any]:
        names = (*Labels._fields, "component")
        text = (
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, "
            "resource, scope, component, and HTTP response code."
        )
        ended = [each for each in self._requests.values() if each.by_code]
        for part in _parts(ended, 10 * HISTOGRAMS_AT_ONCE):
            requests = {
                (*each.labels, COMPONENT, str(code)): count
                for each in part
                for code, count in each.by_code.items()
            }
            yield counters("apiserver_request", text, (*names, "code"), requests)
        text = (
            "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, "
            "resource, subresource, scope and component."
        )
        for part in _parts(ended, HISTOGRAMS_AT_ONCE):
            found = {(*each.labels, COMPONENT): each.durations for each in part}
            yield histograms("apiserver_request_duration_seconds", text, names, found)

        ends: Counter[tuple[str, ...]] = Counter()
        for each in ended:
            for code, count in each.terminations.items():
                ends[(*each.labels[:-1], COMPONENT, str(code))] += count
        text = "[ALPHA] Number of requests which apiserver terminated in self-defense."
        yield counters("apiserver_request_terminations", text, (*names[:-2], "component", "code"), ends)

    def _under_way(self) -> Iterator[Any]:
        running = {("mutating",): 0, ("readOnly",): 0}
        long: Counter[tuple[str, ...]] = Counter()
        for labels, counts in self._requests.items():
            if labels.long_running:
                long[(*labels[:-1], COMPONENT)] += counts.running
            else:
                running["mutating" if labels.verb in _CHANGES else "readOnly",] += counts.running
        text = "[STABLE] Requests being served, but for those that may go on for long."
        yield gauges("apiserver_current_inflight_requests", text, ("request_kind",), running)
        names = (*Labels._fields[:-1], "component")
        text = (
            "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, "
            "version, resource, scope and component. Not all requests are tracked this way."
        )
        yield gauges("apiserver_longrunning_requests", text, names, long)

    def _kept(self) -> Iterator[Any]:
        objects = self._count_objects()
        text = (
            "Number of stored objects at the time of last check split by kind. In case of a fetching error, "
            "the value will be -1."
        )
        yield gauges("apiserver_resource_objects", f"[ALPHA] {text}", ("group", "resource"), objects)
        old = {(qualified(resource, group),): count for (group, resource), count in objects.items()}
        deprecated = "[DEPRECATED, consider using apiserver_resource_objects instead]"
        text = f"[STABLE] (Deprecated since 1.34.0) {deprecated} {text}"
        yield gauges("apiserver_storage_objects", text, ("resource",), old)
        names = ("group", "version", "resource")
        text = "[ALPHA] Number of events sent in watch clients"
        yield counters("apiserver_watch_events", text, names, self._events)


def _parts(found: Sequence[T], at_once: int) -> Iterator[Sequence[T]]:
    """Yield ``found``, some at a time; one part without any if there are none."""
    for start in range(0, len(found) or 1, at_once):
        yield found[start : start + at_once]


def stored_objects(store: Store, custom: Iterable[Resource]) -> dict[tuple[str, str], int]:
    """Return the number of objects of each resource. ``custom``: the resources beside the built-in ones."""
    kept = (each for each in RESOURCES if each.stored and each.storage is None)
    return {(each.group, each.plural): store.count(each.namespace_prefix("")) for each in (*kept, *custom)}


@runtime_checkable
class Collector(Protocol):
    """Source of metric families."""

    def collect(self) -> Iterable[Any]:
        """Return the families of ``prometheus_client``."""
        ...


@runtime_checkable
class RemoteCollector(Protocol):
    """A ``Collector`` that reads its families elsewhere, before they are collected."""

    async def refresh(self) -> None: ...


class _Collected:
    """Metric families that were collected already, in the interface that the library expects."""

    def __init__(self, families: Sequence[Any]) -> None:
        self._families = families

    def collect(self) -> Sequence[Any]:
        return self._families


def _merged(families: Iterable[Any]) -> list[Any]:
    """Return each family once: several components may count under one name, with labels of their own."""
    found: dict[str, Any] = {}
    for family in families:
        if family.name in found:
            found[family.name].samples.extend(family.samples)
        else:
            found[family.name] = family
    return list(found.values())


def exposition(families: Sequence[Any], *, process: bool = True) -> bytes:
    """Return these families in Prometheus' text format, with the library's own metrics of the ``process``.

    This is slow for many series: do not call it on the event loop.
    """
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(cast("Any", _Collected(_merged(families))))
    text = generate_latest(registry) + (generate_latest(REGISTRY) if process else b"")
    for name in COUNTERS_WITHOUT_TOTAL:
        text = text.replace(f"{name}_total".encode(), name.encode())
    return text
