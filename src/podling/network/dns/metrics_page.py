"""The page of figures, under CoreDNS' names (``plugin/metrics``, ``cache``, ``forward``, ``hosts``).

``prometheus_client`` is imported when the first page is queried for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from podling.machinery.histograms import counters, gauges, histograms
from podling.network.dns.answer_cache import DENIAL, SUCCESS
from podling.network.dns.metrics import Metrics

SERVER = "dns://:53"
ZONE = "."
PLUGINS = ("cache", "errors", "forward", "health", "hosts", "kubernetes", "loadbalance", "loop", "ready")
_PLACE = ("server", "zone", "view")
_CACHE = ("server", "zones", "view")
_HERE = (SERVER, ZONE, "")


class Sizes(Struct, frozen=True):
    """The numbers of things that are held at this moment."""

    successes: int = 0
    denials: int = 0
    evictions: int = 0
    hosts: int = 0
    services: int = 0


def page(metrics: Metrics, sizes: Sizes) -> bytes:
    """Return the page of figures in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(cast("Any", _Families(metrics, sizes)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Families:
    """A collector, as ``prometheus_client`` wants it."""

    def __init__(self, metrics: Metrics, sizes: Sizes) -> None:
        self._metrics, self._sizes = metrics, sizes

    def collect(self) -> Iterator[Any]:
        yield from _server(self._metrics)
        yield from _cache(self._metrics, self._sizes)
        yield from _forward(self._metrics)
        yield from _state(self._metrics, self._sizes)


def _server(metrics: Metrics) -> Iterator[Any]:
    text = "Counter of DNS requests made per zone, protocol and family."
    requests = {(*_HERE, *key): float(value) for key, value in metrics.requests.items()}
    yield counters("coredns_dns_requests", text, (*_PLACE, "proto", "family", "type"), requests)
    text = "Counter of response status codes."
    responses = {(*_HERE, *key): float(value) for key, value in metrics.responses.items()}
    yield counters("coredns_dns_responses", text, (*_PLACE, "rcode", "plugin"), responses)
    text = "Histogram of the time (in seconds) each request took per zone."
    yield histograms("coredns_dns_request_duration_seconds", text, _PLACE, {_HERE: metrics.durations})
    text = "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol."
    sizes = {(*_HERE, proto): found for proto, found in metrics.request_sizes.items()}
    yield histograms("coredns_dns_request_size_bytes", text, (*_PLACE, "proto"), sizes)
    text = "Size of the returned response in bytes."
    sizes = {(*_HERE, proto): found for proto, found in metrics.response_sizes.items()}
    yield histograms("coredns_dns_response_size_bytes", text, (*_PLACE, "proto"), sizes)


def _cache(metrics: Metrics, sizes: Sizes) -> Iterator[Any]:
    kinds = ("server", "type", "zones", "view")
    hits = {(SERVER, kind, ZONE, ""): float(metrics.hits[kind]) for kind in (SUCCESS, DENIAL)}
    yield counters("coredns_cache_hits", "The count of cache hits.", kinds, hits)
    yield counters("coredns_cache_misses", "The count of cache misses.", _CACHE, {_HERE: metrics.misses})
    total = sum(metrics.hits.values()) + metrics.misses
    yield counters("coredns_cache_requests", "The count of cache requests.", _CACHE, {_HERE: total})
    evictions = {(SERVER, SUCCESS, ZONE, ""): sizes.evictions}
    yield counters("coredns_cache_evictions", "The count of cache evictions.", kinds, evictions)
    entries = {(SERVER, SUCCESS, ZONE, ""): sizes.successes, (SERVER, DENIAL, ZONE, ""): sizes.denials}
    yield gauges("coredns_cache_entries", "The number of elements in the cache.", kinds, entries)


def _forward(metrics: Metrics) -> Iterator[Any]:
    requests: Counter[tuple[str]] = Counter()
    for (server, _), found in metrics.forwards.items():
        requests[(server,)] += found.count
    yield counters("coredns_forward_requests", "Counter of requests made per upstream.", ("to",), requests)
    text = "Counter of responses received per upstream."
    responses = {key: found.count for key, found in metrics.forwards.items()}
    yield counters("coredns_forward_responses", text, ("to", "rcode"), responses)
    text = "Histogram of the time each request took."
    timed = {("forward", *key): found for key, found in metrics.forwards.items()}
    yield histograms("coredns_proxy_request_duration_seconds", text, ("proxy_name", "to", "rcode"), timed)
    text = "Counter of the number of failed healthchecks."
    failures = {("forward", server): count for server, count in metrics.probe_failures.items()}
    yield counters("coredns_proxy_healthcheck_failures", text, ("proxy_name", "to"), failures)
    text = "Counter of the number of complete failures of the healthchecks."
    yield _single("coredns_forward_healthcheck_broken", text, metrics.broken)
    text = "Counter of the number of queries rejected because the concurrent queries were at maximum."
    yield _single("coredns_forward_max_concurrent_rejects", text, metrics.rejects)


def _state(metrics: Metrics, sizes: Sizes) -> Iterator[Any]:
    yield _single("coredns_panics", "A metrics that counts the number of panics.", metrics.panics)
    text = "A metric that indicates whether a plugin is enabled on per server and zone basis."
    enabled = {(*_HERE, name): 1.0 for name in PLUGINS}
    yield gauges("coredns_plugin_enabled", text, (*_PLACE, "name"), enabled)
    none: dict[tuple[()], float] = {(): sizes.hosts}
    yield gauges("coredns_hosts_entries", "The combined number of entries in hosts.", (), none)
    none = {(): sizes.services}
    yield gauges("podling_dns_services", "The number of Services with names.", (), none)
    dropped = {(reason,): float(count) for reason, count in metrics.dropped.items()}
    text = "Packets that were left without an answer."
    yield counters("podling_dns_dropped_packets", text, ("reason",), dropped)


def _single(name: str, text: str, value: float) -> Any:
    none: dict[tuple[()], float] = {(): value}
    return counters(name, text, (), none)
