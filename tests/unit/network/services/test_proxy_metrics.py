"""The figures of the service proxy under kube-proxy's names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from prometheus_client.parser import text_string_to_metric_families

from podling.client.base import Key
from podling.network.services.proxy_metrics import EXTERNAL, INTERNAL, ProxyMetrics

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def shown(metrics: ProxyMetrics) -> dict[str, float]:
    """Return every sample, by its name and the values of its labels."""
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(metrics.page().decode())
        for sample in family.samples
    }


def test_changes_wait_until_they_are_written() -> None:
    metrics = ProxyMetrics()
    for of in ("service", "endpoint", "endpoint"):
        metrics.count_change(of, NOW)
    metrics.queue("ip", NOW)
    before = shown(metrics)
    assert before["kubeproxy_sync_proxy_rules_service_changes_total"] == 1
    assert before["kubeproxy_sync_proxy_rules_endpoint_changes_total"] == 2
    assert before["kubeproxy_sync_proxy_rules_endpoint_changes_pending"] == 2
    assert before["kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds IPv4"] == NOW.timestamp()
    metrics.finish(["ip"], metrics.take_triggers(), NOW + timedelta(seconds=1))
    after = shown(metrics)
    assert after["kubeproxy_sync_proxy_rules_endpoint_changes_pending"] == 0
    assert after["kubeproxy_sync_proxy_rules_endpoint_changes_total"] == 2
    assert after["kubeproxy_sync_proxy_rules_last_timestamp_seconds IPv4"] == NOW.timestamp() + 1


def test_network_programming_is_measured_from_the_trigger_of_changes_after_the_start() -> None:
    metrics = ProxyMetrics()
    metrics.count_change("endpoint", NOW, NOW - timedelta(hours=1))
    metrics.count_change("endpoint", NOW, NOW + timedelta(seconds=1))
    metrics.finish(["ip", "ip6"], metrics.take_triggers(), NOW + timedelta(seconds=1.3))
    found = shown(metrics)
    name = "kubeproxy_network_programming_duration_seconds"
    for family in ("IPv4", "IPv6"):
        assert found[f"{name}_count {family}"] == 1
        assert found[f"{name}_bucket {family} 0.25"] == 0
        assert found[f"{name}_bucket {family} 0.5"] == 1
    metrics.finish(["ip"], metrics.take_triggers(), NOW + timedelta(seconds=2))
    assert shown(metrics)[f"{name}_count IPv4"] == 1, "each change counts once"


def test_transactions_count_as_full_or_partial() -> None:
    metrics = ProxyMetrics()
    metrics.observe_sync("ip", 0.5, full=True)
    metrics.observe_sync("ip", 0.001, full=False)
    metrics.count_failure("ip6")
    found = shown(metrics)
    assert found["kubeproxy_sync_proxy_rules_duration_seconds_count IPv4"] == 2
    assert found["kubeproxy_sync_proxy_rules_duration_seconds_bucket IPv4 0.001"] == 1
    assert found["kubeproxy_sync_full_proxy_rules_duration_seconds_sum IPv4"] == 0.5
    assert found["kubeproxy_sync_partial_proxy_rules_duration_seconds_count IPv4"] == 1
    assert found["kubeproxy_sync_proxy_rules_nftables_sync_failures_total IPv6"] == 1


def test_services_without_local_endpoints_are_counted_by_policy() -> None:
    metrics = ProxyMetrics()
    one, other = Key("default", "one"), Key("default", "other")
    metrics.put_without_local(one, "ip", frozenset({INTERNAL, EXTERNAL}))
    metrics.put_without_local(one, "ip", frozenset({INTERNAL, EXTERNAL}))
    metrics.put_without_local(other, "ip", frozenset({EXTERNAL}))
    metrics.put_without_local(one, "ip", frozenset({INTERNAL}))
    found = shown(metrics)
    name = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
    assert (found[f"{name} IPv4 internal"], found[f"{name} IPv4 external"]) == (1, 1)


def test_answers_of_probes_are_counted_by_code() -> None:
    metrics = ProxyMetrics()
    for code in (200, 200, 503):
        metrics.count_answer("healthz", code)
    metrics.count_answer("livez", 200)
    found = shown(metrics)
    assert found["kubeproxy_proxy_healthz_total 200"] == 2
    assert found["kubeproxy_proxy_healthz_total 503"] == 1
    assert found["kubeproxy_proxy_livez_total 200"] == 1
