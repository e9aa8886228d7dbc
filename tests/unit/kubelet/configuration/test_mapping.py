"""Fields of ``KubeletConfiguration``: each is supported, without effect, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.mapping import (
    ELSEWHERE,
    MERGES_DEFAULTS,
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
UPSTREAM = """
address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota
cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff
enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable
eventBurst eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim
evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates
fileCheckFrequency hairpinMode healthzBindAddress healthzPort httpCheckFrequency
imageGCHighThresholdPercent imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge
imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups
localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls maxPods
memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings
nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency nodeStatusUpdateFrequency
oomScoreAdj podCIDR podLogsDir podPidsLimit podsPerCore port preloadedImagesVerificationAllowlist
protectKernelDefaults providerID qosReserved readOnlyPort registerNode registerWithTaints registryBurst
registryPullQPS reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce
runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap showHiddenMetricsForVersion
shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods singleProcessOOMKill
staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency systemCgroups
systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion
tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing
userNamespaces volumePluginDir volumeStatsAggPeriod
"""
"""The fields of Kubernetes 1.36 (``k8s.io/kubelet``, ``config/v1beta1/types.go``)."""


def test_document_has_the_fields_of_kubernetes_and_no_other() -> None:
    own = {each.encode_name for each in msgspec.structs.fields(KubeletConfiguration)}
    assert own - {"apiVersion", "kind"} == set(UPSTREAM.split())


@pytest.mark.parametrize(
    "name", sorted(EVERY - supported_names() - NO_EFFECT - REFUSED_BY_VALIDATION - {MERGES_DEFAULTS})
)
def test_unsupported_field_has_a_reason(name: str) -> None:
    assert UNSUPPORTED[name].reason


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
        "rounds_offset",
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
        (
            {"evictionHard": {"memory.available": "1Gi"}, "mergeDefaultEvictionSettings": True},
            {"eviction_hard": {**KubeletConfig().eviction_hard, "memory.available": "1Gi"}},
        ),
        ({"mergeDefaultEvictionSettings": True}, {}),
        (
            {"evictionHard": {"memory.available": "1Gi"}, "mergeDefaultEvictionSettings": False},
            {"eviction_hard": {"memory.available": "1Gi"}},
        ),
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
