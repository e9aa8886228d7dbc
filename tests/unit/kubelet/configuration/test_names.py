"""JSON names of the kubelet's configuration, as a table from upstream's type."""

from __future__ import annotations

import pytest

from podling.kubelet.configuration.names import json_name


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("port", "port"),
        ("max_pods", "maxPods"),
        ("image_minimum_gc_age", "imageMinimumGCAge"),
        ("image_gc_high_threshold_percent", "imageGCHighThresholdPercent"),
        ("static_pod_url_header", "staticPodURLHeader"),
        ("tls_private_key_file", "tlsPrivateKeyFile"),
        ("server_tls_bootstrap", "serverTLSBootstrap"),
        ("cpu_cfs_quota_period", "cpuCFSQuotaPeriod"),
        ("cgroups_per_qos", "cgroupsPerQOS"),
        ("single_process_oom_kill", "singleProcessOOMKill"),
        ("reserved_system_cpus", "reservedSystemCPUs"),
        ("make_iptables_util_chains", "makeIPTablesUtilChains"),
        ("iptables_drop_bit", "iptablesDropBit"),
        ("kube_api_qps", "kubeAPIQPS"),
        ("pod_cidr", "podCIDR"),
        ("provider_id", "providerID"),
        ("ids_per_pod", "idsPerPod"),
        ("pod_pids_limit", "podPidsLimit"),
        ("client_ca_file", "clientCAFile"),
        ("cache_ttl", "cacheTTL"),
        ("cluster_dns", "clusterDNS"),
        ("fail_cgroup_v1", "failCgroupV1"),
    ],
)
def test_name_is_written_as_go_writes_it(attribute: str, name: str) -> None:
    assert json_name(attribute) == name
