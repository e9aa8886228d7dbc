"""The page of figures has CoreDNS' names and labels."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from podling.network.dns.answers import NXDOMAIN, A
from podling.network.dns.metrics import Label, Metrics
from podling.network.dns.metrics_page import Sizes, page
from podling.network.dns.reply_cache import Reply

HIT = Label("udp", "1", A, 0, "kubernetes", 90, "success", 512)
MISS = Label("tcp", "2", 9999, NXDOMAIN, "forward", 70, "", 65535)


def samples(metrics: Metrics, sizes: Sizes) -> dict[tuple[str, ...], float]:
    """Return every sample by its name and the values of its labels, but for those that all have in common."""
    families = text_string_to_metric_families(page(metrics, sizes).decode())
    common = ("server", "zone", "zones", "view")
    return {
        (
            found.name,
            *sorted(value for name, value in found.labels.items() if name not in common),
        ): found.value
        for family in families
        for found in family.samples
    }


def test_page_counts_every_question() -> None:
    metrics = Metrics()
    reply = Reply(b"", (b"",), HIT)
    reply.hits = 3
    metrics.count_hits([reply, reply])
    metrics.count(MISS)
    metrics.forwarded("1.2.3.4:53", NXDOMAIN, 0.01)
    metrics.probe_failures["1.2.3.4:53"] += 1
    metrics.durations.observe(0.0001)
    metrics.dropped["source"] += 2
    found = samples(metrics, Sizes(successes=4, hosts=2, services=9))
    wanted = {
        "coredns_dns_requests_total udp 1 A": 3,
        "coredns_dns_requests_total tcp 2 other": 1,
        "coredns_dns_responses_total NOERROR cache": 3,
        "coredns_dns_responses_total NXDOMAIN forward": 1,
        "coredns_dns_request_duration_seconds_bucket 0.00025": 1,
        "coredns_dns_request_duration_seconds_count": 1,
        "coredns_dns_request_size_bytes_bucket udp 511": 0,
        "coredns_dns_request_size_bytes_bucket udp 1023": 3,
        "coredns_dns_response_size_bytes_bucket udp 100": 3,
        "coredns_cache_hits_total success": 3,
        "coredns_cache_hits_total denial": 0,
        "coredns_cache_misses_total": 1,
        "coredns_cache_requests_total": 4,
        "coredns_cache_entries success": 4,
        "coredns_forward_requests_total 1.2.3.4:53": 1,
        "coredns_forward_responses_total 1.2.3.4:53 NXDOMAIN": 1,
        "coredns_proxy_request_duration_seconds_count forward 1.2.3.4:53 NXDOMAIN": 1,
        "coredns_proxy_healthcheck_failures_total forward 1.2.3.4:53": 1,
        "coredns_panics_total": 0,
        "coredns_plugin_enabled kubernetes": 1,
        "coredns_hosts_entries": 2,
        "podling_dns_services": 9,
        "podling_dns_dropped_packets_total source": 2,
    }
    keys = {text: (text.split()[0], *sorted(text.split()[1:])) for text in wanted}
    assert {text: found.get(key) for text, key in keys.items()} == wanted
    assert found[("process_resident_memory_bytes",)] > 0
