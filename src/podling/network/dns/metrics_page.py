"""The page of figures, under CoreDNS' names (``plugin/metrics``, ``cache``, ``forward``, ``hosts``)."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from podling.network.dns.answer_cache import DENIAL, SUCCESS
from podling.network.dns.exposition import Page
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
    """Return the page of figures in Prometheus' text format. Raises ``OSError`` without ``/proc``."""
    written = Page()
    _server(written, metrics)
    _cache(written, metrics, sizes)
    _forward(written, metrics)
    _state(written, metrics, sizes)
    written.process()
    return written.encode()


def _server(page: Page, metrics: Metrics) -> None:
    text = "Counter of DNS requests made per zone, protocol and family."
    requests = {(*_HERE, *key): float(value) for key, value in metrics.requests.items()}
    page.counters("coredns_dns_requests", text, (*_PLACE, "proto", "family", "type"), requests)
    text = "Counter of response status codes."
    responses = {(*_HERE, *key): float(value) for key, value in metrics.responses.items()}
    page.counters("coredns_dns_responses", text, (*_PLACE, "rcode", "plugin"), responses)
    text = "Histogram of the time (in seconds) each request took per zone."
    page.histograms("coredns_dns_request_duration_seconds", text, _PLACE, {_HERE: metrics.durations})
    text = "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol."
    sizes = {(*_HERE, proto): found for proto, found in metrics.request_sizes.items()}
    page.histograms("coredns_dns_request_size_bytes", text, (*_PLACE, "proto"), sizes)
    text = "Size of the returned response in bytes."
    sizes = {(*_HERE, proto): found for proto, found in metrics.response_sizes.items()}
    page.histograms("coredns_dns_response_size_bytes", text, (*_PLACE, "proto"), sizes)


def _cache(page: Page, metrics: Metrics, sizes: Sizes) -> None:
    kinds = ("server", "type", "zones", "view")
    hits = {(SERVER, kind, ZONE, ""): float(metrics.hits[kind]) for kind in (SUCCESS, DENIAL)}
    page.counters("coredns_cache_hits", "The count of cache hits.", kinds, hits)
    page.counters("coredns_cache_misses", "The count of cache misses.", _CACHE, {_HERE: metrics.misses})
    total = sum(metrics.hits.values()) + metrics.misses
    page.counters("coredns_cache_requests", "The count of cache requests.", _CACHE, {_HERE: total})
    evictions = {(SERVER, SUCCESS, ZONE, ""): sizes.evictions}
    page.counters("coredns_cache_evictions", "The count of cache evictions.", kinds, evictions)
    entries = {(SERVER, SUCCESS, ZONE, ""): sizes.successes, (SERVER, DENIAL, ZONE, ""): sizes.denials}
    page.gauges("coredns_cache_entries", "The number of elements in the cache.", kinds, entries)


def _forward(page: Page, metrics: Metrics) -> None:
    requests: Counter[tuple[str]] = Counter()
    for (server, _), found in metrics.forwards.items():
        requests[(server,)] += found.count
    page.counters("coredns_forward_requests", "Counter of requests made per upstream.", ("to",), requests)
    text = "Counter of responses received per upstream."
    responses = {key: found.count for key, found in metrics.forwards.items()}
    page.counters("coredns_forward_responses", text, ("to", "rcode"), responses)
    text = "Histogram of the time each request took."
    timed = {("forward", *key): found for key, found in metrics.forwards.items()}
    page.histograms("coredns_proxy_request_duration_seconds", text, ("proxy_name", "to", "rcode"), timed)
    text = "Counter of the number of failed healthchecks."
    failures = {("forward", server): count for server, count in metrics.probe_failures.items()}
    page.counters("coredns_proxy_healthcheck_failures", text, ("proxy_name", "to"), failures)
    text = "Counter of the number of complete failures of the healthchecks."
    _single(page, "coredns_forward_healthcheck_broken", text, metrics.broken)
    text = "Counter of the number of queries rejected because the concurrent queries were at maximum."
    _single(page, "coredns_forward_max_concurrent_rejects", text, metrics.rejects)


def _state(page: Page, metrics: Metrics, sizes: Sizes) -> None:
    _single(page, "coredns_panics", "A metrics that counts the number of panics.", metrics.panics)
    text = "A metric that indicates whether a plugin is enabled on per server and zone basis."
    enabled = {(*_HERE, name): 1.0 for name in PLUGINS}
    page.gauges("coredns_plugin_enabled", text, (*_PLACE, "name"), enabled)
    text = "The combined number of entries in hosts."
    page.gauges("coredns_hosts_entries", text, found={(): sizes.hosts})
    page.gauges("podling_dns_services", "The number of Services with names.", found={(): sizes.services})
    dropped = {(reason,): float(count) for reason, count in metrics.dropped.items()}
    text = "Packets that were left without an answer."
    page.counters("podling_dns_dropped_packets", text, ("reason",), dropped)


def _single(page: Page, name: str, text: str, value: float) -> None:
    page.counters(name, text, found={(): value})
