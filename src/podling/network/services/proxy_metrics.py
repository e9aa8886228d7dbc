"""The figures of the service proxy, and their page under kube-proxy's names (``pkg/proxy/metrics``).

Left out are the figures of kube-proxy's other modes. ``prometheus_client`` is imported when the first page is
requested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, cast

from podling.client.base import Key
from podling.machinery.histograms import Histogram, counters, gauges, histograms

SYNC_BUCKETS = tuple(0.001 * 2**number for number in range(15))
PROGRAMMING_BUCKETS = (
    0.0,
    0.25,
    0.5,
    *(float(seconds) for seconds in range(1, 60)),
    *(float(seconds) for seconds in range(60, 120, 5)),
    *(float(seconds) for seconds in range(120, 301, 30)),
)
FAMILY_NAMES = {"ip": "IPv4", "ip6": "IPv6"}
INTERNAL, EXTERNAL = "internal", "external"
_FAMILY = ("ip_family",)
_SYNC = "kubeproxy_sync_proxy_rules"

Durations = dict[tuple[str], Histogram]


class ProxyMetrics:
    """Counts what the proxy of one node does."""

    def __init__(self) -> None:
        self._started: datetime | None = None
        self._totals: Counter[str] = Counter()
        self._pending: Counter[str] = Counter()
        self._queued: dict[tuple[str], float] = {}
        self._synced: dict[tuple[str], float] = {}
        self._failures: Counter[tuple[str]] = Counter()
        self._durations: dict[str, Durations] = {"sync": {}, "sync_full": {}, "sync_partial": {}}
        self._programming: Durations = {}
        self._triggers: list[datetime] = []
        self._without_local: dict[tuple[str, str], set[Key]] = {}
        self._answers: Counter[tuple[str, str]] = Counter()

    def count_change(self, of: str, now: datetime, trigger: datetime | None = None) -> None:
        """Count a change that is not in the kernel yet: ``of`` is ``service`` or ``endpoint``.

        Args:
            trigger: when the pod or Service changed that caused it.
        """
        self._started = self._started or now
        self._totals[of] += 1
        self._pending[of] += 1
        if trigger is not None and trigger >= self._started:  # older ones waited for the proxy to start
            self._triggers.append(trigger)

    def queue(self, family: str, now: datetime) -> None:
        """Note that a family's rules are to be written."""
        self._queued[(FAMILY_NAMES[family],)] = now.timestamp()

    def observe_sync(self, family: str, seconds: float, *, full: bool) -> None:
        """Count one transaction. A ``full`` one follows a comparison of the whole table."""
        label = (FAMILY_NAMES[family],)
        for name in ("sync", "sync_full" if full else "sync_partial"):
            self._durations[name].setdefault(label, Histogram(SYNC_BUCKETS)).observe(seconds)

    def count_failure(self, family: str) -> None:
        self._failures[FAMILY_NAMES[family],] += 1

    def take_triggers(self) -> list[datetime]:
        """Return the triggers of the changes that are to be written now."""
        self._pending.clear()
        found, self._triggers = self._triggers, []
        return found

    def finish(self, families: Iterable[str], triggers: Iterable[datetime], now: datetime) -> None:
        """Note that the kernel has the changes that ``triggers`` caused."""
        for family in families:
            label = (FAMILY_NAMES[family],)
            self._synced[label] = now.timestamp()
            found = self._programming.setdefault(label, Histogram(PROGRAMMING_BUCKETS))
            for trigger in triggers:
                found.observe((now - trigger).total_seconds())

    def put_without_local(self, key: Key, family: str, policies: frozenset[str]) -> None:
        """Note for which traffic policies ``Local`` a Service has endpoints, but none on this node."""
        for policy in (INTERNAL, EXTERNAL):
            found = self._without_local.setdefault((FAMILY_NAMES[family], policy), set())
            if policy in policies:
                found.add(key)
            else:
                found.discard(key)

    def count_answer(self, path: str, code: int) -> None:
        """Count an answer of ``healthz`` or ``livez``."""
        self._answers[path, str(code)] += 1

    def page(self) -> bytes:
        """Return the figures in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(cast("Any", self))
        ProcessCollector(registry=registry)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        for name, text in (
            ("sync", "SyncProxyRules latency in seconds"),
            ("sync_full", "SyncProxyRules latency in seconds for full resyncs"),
            ("sync_partial", "SyncProxyRules latency in seconds for partial resyncs"),
        ):
            family = f"kubeproxy_{name}_proxy_rules_duration_seconds"
            yield histograms(family, text, _FAMILY, self._durations[name])
        text = "In Cluster Network Programming Latency in seconds"
        yield histograms("kubeproxy_network_programming_duration_seconds", text, _FAMILY, self._programming)
        yield from self._changes()
        text = "The last time proxy rules were successfully synced"
        yield gauges(f"{_SYNC}_last_timestamp_seconds", text, _FAMILY, self._synced)
        text = "The last time a sync of proxy rules was queued"
        yield gauges(f"{_SYNC}_last_queued_timestamp_seconds", text, _FAMILY, self._queued)
        text = "Cumulative proxy nftables sync failures"
        yield counters(f"{_SYNC}_nftables_sync_failures", text, _FAMILY, self._failures)
        text = "Number of services with a Local traffic policy and no endpoints"
        missing = {label: float(len(keys)) for label, keys in self._without_local.items()}
        yield gauges(f"{_SYNC}_no_local_endpoints_total", text, (*_FAMILY, "traffic_policy"), missing)
        for path in ("healthz", "livez"):
            answers = {(code,): float(count) for (each, code), count in self._answers.items() if each == path}
            yield counters(
                f"kubeproxy_proxy_{path}", f"Cumulative proxy {path} HTTP status", ("code",), answers
            )

    def _changes(self) -> Iterator[Any]:
        for of, name in (("service", "Service"), ("endpoint", "Endpoint")):
            total: dict[tuple[()], float] = {(): self._totals[of]}
            yield counters(f"{_SYNC}_{of}_changes", f"Cumulative proxy rules {name} changes", (), total)
            pending: dict[tuple[()], float] = {(): self._pending[of]}
            yield gauges(f"{_SYNC}_{of}_changes_pending", f"Pending proxy rules {name} changes", (), pending)
