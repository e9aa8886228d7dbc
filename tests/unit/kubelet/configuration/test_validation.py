"""Validation of a ``KubeletConfiguration``: upstream's table of cases (``validation_test.go``)."""

from __future__ import annotations

from typing import Any

import pytest

from podling.kubelet.configuration.types import KubeletConfiguration
from podling.kubelet.configuration.validation import problems
from podling.machinery.encoding.intake import convert

SUCCESS: dict[str, Any] = {
    "eventBurst": 10,
    "eventRecordQPS": 5,
    "healthzPort": 10248,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "iptablesDropBit": 15,
    "iptablesMasqueradeBit": 14,
    "kubeAPIBurst": 10,
    "kubeAPIQPS": 5,
    "maxOpenFiles": 1000000,
    "maxPods": 110,
    "oomScoreAdj": -999,
    "podsPerCore": 100,
    "port": 65535,
    "podLogsDir": "/logs",
    "registryBurst": 10,
    "registryPullQPS": 5,
    "hairpinMode": "promiscuous-bridge",
    "nodeLeaseDurationSeconds": 1,
    "cpuCFSQuotaPeriod": "25ms",
    "topologyManagerScope": "pod",
    "topologyManagerPolicy": "single-numa-node",
    "shutdownGracePeriod": "30s",
    "shutdownGracePeriodCriticalPods": "10s",
    "memoryThrottlingFactor": 0.9,
    "crashLoopBackOff": {"maxContainerRestartPeriod": "3s"},
    "containerLogMaxWorkers": 1,
    "containerLogMonitorInterval": "10s",
    "featureGates": {"CustomCPUCFSQuotaPeriod": True, "GracefulNodeShutdown": True},
}
NO_SHUTDOWN = {"shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s"}
GATES_OFF = {"GracefulNodeShutdown": False, "GracefulNodeShutdownBasedOnPodPriority": False}
ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"

CASES: list[tuple[dict[str, Any], str]] = [
    ({"nodeLeaseDurationSeconds": -1}, "nodeLeaseDurationSeconds must be greater than 0"),
    (
        {"cgroupsPerQOS": False, "enforceNodeAllocatable": ["pods"]},
        f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in {ENFORCE}',
    ),
    (
        {"systemCgroups": "/"},
        "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
    ),
    ({"eventBurst": -1}, "eventBurst (--event-burst) -1 must not be a negative number"),
    ({"eventRecordQPS": -1}, "eventRecordQPS (--event-qps) -1 must not be a negative number"),
    ({"healthzPort": 65536}, "healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive"),
    (
        {"featureGates": {}, "cpuCFSQuotaPeriod": "200ms"},
        "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {200ms} requires feature gate CustomCPUCFSQuotaPeriod",
    ),
    (
        {"cpuCFSQuotaPeriod": "2s"},
        "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, inclusive",
    ),
    *(
        (
            {"userNamespaces": {"idsPerPod": length}},
            f"kubelet user namespace length {length} is not a multiple of 65536",
        )
        for length in (0, -65536, 65535, 65537)
    ),
    (
        {"userNamespaces": {"idsPerPod": 65536 * 1024}, "maxPods": 63},
        "kubelet user assigned IDs are not enough to support 63 pods",
    ),
    (
        {"allowedUnsafeSysctls": ["net.core.*", "kernel.panic"]},
        'the sysctl "kernel.panic" are not known to be namespaced',
    ),
    ({"allowedUnsafeSysctls": ["vm/*"]}, 'the sysctls "vm.*" are not known to be namespaced'),
    (
        {"imageGCHighThresholdPercent": 101},
        "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive",
    ),
    (
        {"imageGCLowThresholdPercent": -1},
        "imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive",
    ),
    (
        {"imageGCHighThresholdPercent": 0, "imageGCLowThresholdPercent": 0},
        "imageGCLowThresholdPercent (--image-gc-low-threshold) 0 must be less than "
        "imageGCHighThresholdPercent (--image-gc-high-threshold) 0",
    ),
    (
        {"imageGCHighThresholdPercent": 0, "imageGCLowThresholdPercent": 1},
        "imageGCLowThresholdPercent (--image-gc-low-threshold) 1 must be less than "
        "imageGCHighThresholdPercent (--image-gc-high-threshold) 0",
    ),
    ({"iptablesDropBit": 32}, "iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive"),
    (
        {"iptablesMasqueradeBit": 32},
        "iptablesMasqueradeBit (--iptables-masquerade-bit) 32 must be between 0 and 31, inclusive",
    ),
    ({"kubeAPIBurst": -1}, "kubeAPIBurst (--kube-api-burst) -1 must not be a negative number"),
    ({"kubeAPIQPS": -1}, "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number"),
    ({"nodeStatusMaxImages": -2}, "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater"),
    ({"maxOpenFiles": -1}, "maxOpenFiles (--max-open-files) -1 must not be a negative number"),
    ({"maxPods": -1}, "maxPods (--max-pods) -1 must not be a negative number"),
    ({"oomScoreAdj": 1001}, "oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive"),
    ({"podsPerCore": -1}, "podsPerCore (--pods-per-core) -1 must not be a negative number"),
    ({"port": 65536}, "port (--port) 65536 must be between 1 and 65535, inclusive"),
    ({"readOnlyPort": 65536}, "readOnlyPort (--read-only-port) 65536 must be between 0 and 65535, inclusive"),
    ({"registryBurst": -1}, "registryBurst (--registry-burst) -1 must not be a negative number"),
    ({"registryPullQPS": -1}, "registryPullQPS (--registry-qps) -1 must not be a negative number"),
    ({"maxParallelImagePulls": 0}, "maxParallelImagePulls 0 must be a positive number"),
    (
        {"maxParallelImagePulls": 3, "serializeImagePulls": True},
        "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) "
        "is set to false",
    ),
    ({"runOnce": True}, "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"),
    (
        {"topologyManagerPolicy": "invalid-policy"},
        'topologyManagerPolicy (--topology-manager-policy) "invalid-policy" must be one of: '
        '["none" "best-effort" "restricted" "single-numa-node"]',
    ),
    (
        {"topologyManagerScope": "invalid-scope"},
        'topologyManagerScope (--topology-manager-scope) "invalid-scope" must be one of: "container", '
        'or "pod"',
    ),
    (
        {"shutdownGracePeriod": "1s", "shutdownGracePeriodCriticalPods": "2s"},
        "shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}",
    ),
    (
        {"shutdownGracePeriod": "1ms", "shutdownGracePeriodCriticalPods": "0s"},
        "shutdownGracePeriod {1ms} must be either zero or otherwise >= 1 sec",
    ),
    (
        {"shutdownGracePeriodCriticalPods": "1ms"},
        "shutdownGracePeriodCriticalPods {1ms} must be either zero or otherwise >= 1 sec",
    ),
    (
        {"shutdownGracePeriod": "1s", "featureGates": {**GATES_OFF, "CustomCPUCFSQuotaPeriod": True}},
        "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate "
        "GracefulNodeShutdown",
    ),
    (
        {"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 0}]},
        "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
    ),
    (
        {
            **NO_SHUTDOWN,
            "featureGates": {
                "GracefulNodeShutdownBasedOnPodPriority": False,
                "CustomCPUCFSQuotaPeriod": True,
            },
            "shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 0}],
        },
        "Specifying shutdownGracePeriodByPodPriority requires feature gate "
        "GracefulNodeShutdownBasedOnPodPriority",
    ),
    (
        {"memorySwap": {"swapBehavior": "invalid-behavior"}},
        'memorySwap.swapBehavior "invalid-behavior" must be one of: "", "LimitedSwap" or "NoSwap"',
    ),
    (
        {"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}},
        "CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s",
    ),
    (
        {"featureGates": {"KubeletCrashLoopBackOffMax": False, "CustomCPUCFSQuotaPeriod": True}},
        "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must "
        "not be set",
    ),
    (
        {"enforceNodeAllocatable": ["system-reserved"]},
        'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or '
        f'"system-reserved-compressible" included in {ENFORCE}',
    ),
    (
        {"enforceNodeAllocatable": ["kube-reserved-compressible"]},
        'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or '
        f'"kube-reserved-compressible" included in {ENFORCE}',
    ),
    (
        {
            "enforceNodeAllocatable": ["kube-reserved-compressible", "kube-reserved"],
            "kubeReservedCgroup": "/kubelet.service",
        },
        f'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together in {ENFORCE}',
    ),
    (
        {"enforceNodeAllocatable": ["none", "kube-reserved"], "kubeReservedCgroup": "/kubelet.service"},
        f'{ENFORCE} may not contain additional enforcements when "none" is specified',
    ),
    (
        {"enforceNodeAllocatable": ["pods", "pods"]},
        f'duplicated enforcements "pods" in {ENFORCE}',
    ),
    (
        {"enforceNodeAllocatable": ["invalid"]},
        f'option "invalid" specified for {ENFORCE}. Valid options are "pods", "system-reserved", '
        '"system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"',
    ),
    (
        {"hairpinMode": "invalid"},
        'option "invalid" specified for hairpinMode (--hairpin-mode). Valid options are "none", '
        '"hairpin-veth" or "promiscuous-bridge"',
    ),
    (
        {"reservedSystemCPUs": "0-3", "systemReservedCgroup": "/system.slice"},
        "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
        "or kubeReservedCgroup (--kube-reserved-cgroup)",
    ),
    (
        {"memoryThrottlingFactor": 1.1},
        "memoryThrottlingFactor 1.1 must be greater than 0 and less than or equal to 1.0",
    ),
    (
        {"registerWithTaints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]},
        "taint.TimeAdded is not nil",
    ),
    (
        {"imageMaximumGCAge": "1s", "imageMinimumGCAge": "2s"},
        "imageMaximumGCAge 1s must be greater than imageMinimumGCAge 2s",
    ),
    ({"containerLogMaxWorkers": 0}, "containerLogMaxWorkers must be greater than or equal to 1"),
    (
        {"containerLogMonitorInterval": "2s"},
        "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
    ),
    ({"containerLogMaxFiles": 1}, "containerLogMaxFiles must be greater than 1"),
    ({"podLogsDir": "logs"}, 'pod logs path "logs" must be absolute path'),
    ({"podLogsDir": "/path/../logs"}, 'pod logs path "/path/../logs" must be normalized'),
]


def found(changes: dict[str, Any]) -> list[str]:
    return problems(convert({**SUCCESS, **changes}, KubeletConfiguration, "Strict")[0])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"maxParallelImagePulls": 1, "serializeImagePulls": True},
        {
            **NO_SHUTDOWN,
            "shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 9}],
        },
        {"enforceNodeAllocatable": ["none"], "cgroupsPerQOS": False},
    ],
)
def test_valid_configuration_has_no_problem(changes: dict[str, Any]) -> None:
    assert found(changes) == []


@pytest.mark.parametrize(("changes", "text"), CASES, ids=[text[:50] for _, text in CASES])
def test_invalid_configuration_is_refused_in_kubernetes_words(changes: dict[str, Any], text: str) -> None:
    assert f"invalid configuration: {text}" in found(changes)


def test_unlimited_swap_is_refused() -> None:
    text = 'memorySwap.swapBehavior "UnlimitedSwap" must be one of: "", "LimitedSwap" or "NoSwap"'
    assert found({"memorySwap": {"swapBehavior": "UnlimitedSwap"}}) == [f"invalid configuration: {text}"]


def test_unknown_gate_is_the_only_problem() -> None:
    assert found({"featureGates": {"Foo": True}, "maxPods": -1}) == ["unrecognized feature gate: Foo"]
