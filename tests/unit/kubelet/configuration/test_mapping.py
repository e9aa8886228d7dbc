"""Fields of ``KubeletConfiguration``: each is supported, without effect, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.mapping import (
    ELSEWHERE,
    REFUSED_BY_VALIDATION,
    SET_BY_NODE,
    every_field,
    settings_from,
)
from podling.kubelet.configuration.support import NO_EFFECT, UNSUPPORTED
from podling.kubelet.configuration.types import KubeletConfiguration
from podling.machinery.encoding.intake import convert

FOLDER = Path("/etc/kubernetes")


def settings(plain: dict[str, Any]) -> dict[str, Any]:
    found, problems = settings_from(convert(plain, KubeletConfiguration, "Strict")[0], FOLDER)
    assert not problems
    return found


def refusals(plain: dict[str, Any]) -> list[str]:
    return settings_from(convert(plain, KubeletConfiguration, "Strict")[0], FOLDER)[1]


def supported_names() -> frozenset[str]:
    """Return the names of the supported fields, in snake case."""
    own = {each.name for each in msgspec.structs.fields(KubeletConfig)} - SET_BY_NODE
    return frozenset(name for name in EVERY if ELSEWHERE.get(name, name) in own)


EVERY = {field.name for field in every_field(KubeletConfiguration)}


def test_every_field_has_one_treatment() -> None:
    supported = supported_names()
    assert not supported & UNSUPPORTED.keys(), "these are supported now: take them out of support.py"
    assert not supported & NO_EFFECT
    assert not NO_EFFECT & UNSUPPORTED.keys()
    assert UNSUPPORTED.keys() | NO_EFFECT | ELSEWHERE.keys() | REFUSED_BY_VALIDATION <= EVERY


def test_every_field_of_the_kubelet_is_one_of_kubernetes_or_named_here() -> None:
    """A field of ``KubeletConfig`` that no file can set would be out of a user's reach."""
    own = {each.name for each in msgspec.structs.fields(KubeletConfig)}
    set_by_files = {ELSEWHERE.get(name, name) for name in EVERY}
    assert own - set_by_files <= {
        "capacity",
        "docker_config",
        "external_addresses",
        "hostname",
        "housekeeping_interval",
        "network_unavailable",
        "node_addresses",
        "node_annotations",
        "node_labels",
        "relist_interval",
        "seccomp_profile_root",
        "skip_idle_rounds",
        "write_files",
    }


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({}, {}),
        ({"maxPods": 20, "podsPerCore": 4}, {"max_pods": 20, "pods_per_core": 4}),
        ({"maxPods": 0}, {}),
        ({"imageGCHighThresholdPercent": 0}, {"image_gc_high_threshold_percent": 0}),
        ({"syncFrequency": "1m30s", "fileCheckFrequency": "0s"}, {"sync_frequency": 90.0}),
        ({"containerLogMaxSize": "5Mi"}, {"container_log_max_size_bytes": 5 << 20}),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "30s"}}, {"crash_loop_back_off_max": 30.0}),
        ({"staticPodPath": "manifests"}, {"static_pod_path": FOLDER / "manifests"}),
        ({"resolvConf": "/run/resolv.conf"}, {"resolv_conf": Path("/run/resolv.conf")}),
        ({"resolvConf": ""}, {"resolv_conf": None}),
        ({"clusterDNS": ["10.96.0.10"]}, {"cluster_dns": ("10.96.0.10",)}),
        (
            {"evictionSoftGracePeriod": {"memory.available": "1m"}},
            {"eviction_soft_grace_period": {"memory.available": 60.0}},
        ),
        (
            {"nodeStatusUpdateFrequency": "4s"},
            {"node_status_update_frequency": 4.0, "node_status_report_frequency": 4.0},
        ),
        (
            {"nodeStatusUpdateFrequency": "4s", "nodeStatusReportFrequency": "1m"},
            {"node_status_update_frequency": 4.0, "node_status_report_frequency": 60.0},
        ),
        ({"maxParallelImagePulls": 3}, {"max_parallel_image_pulls": 3, "serialize_image_pulls": False}),
        ({"maxParallelImagePulls": 1}, {"max_parallel_image_pulls": 1}),
        ({"podPidsLimit": -5}, {"pod_pids_limit": -1}),
        ({"userNamespaces": {"idsPerPod": 131072}}, {"user_namespaces_ids_per_pod": 131072}),
        ({"hairpinMode": "hairpin-veth", "rotateCertificates": True}, {}),
        ({"iptablesDropBit": 3, "streamingConnectionIdleTimeout": "2h"}, {}),
    ],
)
def test_value_becomes_the_kubelets_own(plain: dict[str, Any], expected: dict[str, Any]) -> None:
    assert settings(plain) == expected


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ({"readOnlyPort": 10255}, "field readOnlyPort is not supported: the kubelet serves nothing without"),
        (
            {"authentication": {"x509": {"clientCAFile": "/ca.crt"}}},
            "field authentication.x509.clientCAFile is not",
        ),
        (
            {"cgroupDriver": "systemd"},
            'field cgroupDriver may only be "cgroupfs": cgroups are written directly',
        ),
        ({"logging": {"format": "json"}}, 'field logging.format may only be "text": logs are text'),
        ({"enableProfilingHandler": True}, "field enableProfilingHandler may only be false"),
        ({"syncFrequency": "1 minute"}, 'syncFrequency: time: unknown unit " minute" in duration "1 minute"'),
    ],
)
def test_other_field_is_refused_by_name(plain: dict[str, Any], text: str) -> None:
    (found,) = refusals(plain)
    assert found.startswith(text)


def test_configuration_as_kubeadm_writes_it_sets_what_it_says() -> None:
    """Fields with the zero of their type say nothing: kubeadm writes many of them."""
    plain = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": "",
        "cpuManagerReconcilePeriod": "0s",
        "crashLoopBackOff": {},
        "evictionPressureTransitionPeriod": "0s",
        "volumeStatsAggPeriod": "0s",
        "logging": {
            "flushFrequency": 0,
            "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}},
            "verbosity": 0,
        },
        "memorySwap": {},
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    assert settings(plain) == {
        "cluster_dns": ("10.96.0.10",),
        "cluster_domain": "cluster.local",
        "static_pod_path": Path("/etc/kubernetes/manifests"),
    }
