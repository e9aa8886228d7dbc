"""Validation of a ``KubeletConfiguration``, in Kubernetes' words (``ValidateKubeletConfiguration``). Pure."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.amounts import amount_problems
from podling.kubelet.configuration.names import json_name
from podling.kubelet.configuration.types import KubeletConfiguration
from podling.kubelet.containers.user_ids import IDS_UNIT, blocks
from podling.machinery.durations import go_duration, seconds_of
from podling.machinery.feature_gates import GATES, gate_problems, is_enabled
from podling.runtime.sysctl_names import dots_between_parts, namespace_of

_NOT_NEGATIVE = (
    ("event_burst", "event-burst"),
    ("event_record_qps", "event-qps"),
    ("kube_api_burst", "kube-api-burst"),
    ("kube_api_qps", "kube-api-qps"),
    ("max_open_files", "max-open-files"),
    ("max_pods", "max-pods"),
    ("pods_per_core", "pods-per-core"),
    ("registry_burst", "registry-burst"),
    ("registry_pull_qps", "registry-qps"),
)
_RANGES = (
    ("healthz_port", "healthz-port", 0, 65535, "1 and 65535"),
    ("image_gc_high_threshold_percent", "image-gc-high-threshold", 0, 100, "0 and 100"),
    ("image_gc_low_threshold_percent", "image-gc-low-threshold", 0, 100, "0 and 100"),
    ("iptables_drop_bit", "iptables-drop-bit", 0, 31, "0 and 31"),
    ("iptables_masquerade_bit", "iptables-masquerade-bit", 0, 31, "0 and 31"),
    ("oom_score_adj", "oom-score-adj", -1000, 1000, "-1000 and 1000"),
    ("port", "port", 0, 65535, "1 and 65535"),
    ("read_only_port", "read-only-port", 0, 65535, "0 and 65535"),
)
_MAX_PODS = KubeletConfig().max_pods
_TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_ENFORCEMENTS = ("pods", "system-reserved", "system-reserved-compressible", "kube-reserved")
_ENFORCEMENTS_KUBE = "kube-reserved-compressible"
_CPU_SET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def problems(found: KubeletConfiguration) -> list[str]:
    """Return why a configuration is invalid; empty for a valid one. Raises ``ValueError`` for a duration."""
    gates = gate_problems(found.feature_gates)
    if any(text.startswith("unrecognized") for text in gates):
        return gates
    rules = (
        _numbers(found),
        _images(found),
        _periods(found),
        _taints(found),
        _choices(found),
        _access(found),
        _shutdown(found),
        _enforcement(found),
        _reserved(found),
        _memory(found),
        _logs(found),
        _isolation(found),
        amount_problems(found),
    )
    return [*gates, *(f"invalid configuration: {text}" for rule in rules for text in rule)]


def _has(found: KubeletConfiguration, gate: str) -> bool:
    return is_enabled(gate, {name: on for name, on in found.feature_gates.items() if name in GATES})


def _seconds(text: str | None, default: float = 0.0) -> float:
    return seconds_of(text) if text else default


def _go(text: str | None) -> str:
    """Return a duration as Go prints the struct that holds it."""
    return f"{{{go_duration(_seconds(text))}}}"


def _numbers(found: KubeletConfiguration) -> Iterator[str]:
    if found.node_lease_duration_seconds < 0:
        yield "nodeLeaseDurationSeconds must be greater than 0"
    if found.system_cgroups and not found.cgroup_root:
        yield (
            "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
        )
    for name, flag in _NOT_NEGATIVE:
        value = getattr(found, name) or 0
        if value < 0:
            yield f"{json_name(name)} (--{flag}) {value} must not be a negative number"
    for name, flag, low, high, words in _RANGES:
        value = getattr(found, name)
        if value is not None and not low <= value <= high:
            yield f"{json_name(name)} (--{flag}) {value} must be between {words}, inclusive"
    if found.node_status_max_images is not None and found.node_status_max_images < -1:
        value = found.node_status_max_images
        yield f"nodeStatusMaxImages (--node-status-max-images) {value} must be -1 or greater"
    if found.run_once:
        yield "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    if found.server_tls_bootstrap and not _has(found, "RotateKubeletServerCertificate"):
        yield "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"


def _images(found: KubeletConfiguration) -> Iterator[str]:
    low, high = found.image_gc_low_threshold_percent, found.image_gc_high_threshold_percent
    low, high = 80 if low is None else low, 85 if high is None else high
    if low >= high:
        yield (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        )
    least, most = _seconds(found.image_minimum_gc_age, 120.0), _seconds(found.image_maximum_gc_age)
    for name, age in (("imageMinimumGCAge", least), ("imageMaximumGCAge", most)):
        if age < 0:
            yield f"{name} -{go_duration(-age)} must not be negative"
    if 0 < most <= least:
        shown = go_duration(most), go_duration(least)
        yield f"imageMaximumGCAge {shown[0]} must be greater than imageMinimumGCAge {shown[1]}"
    parallel, serial = found.max_parallel_image_pulls, found.serialize_image_pulls
    if parallel is not None and parallel < 1:
        yield f"maxParallelImagePulls {parallel} must be a positive number"
    if serial and parallel is not None and parallel > 1:
        yield (
            "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls "
            "(--serialize-image-pulls) is set to false"
        )


def _periods(found: KubeletConfiguration) -> Iterator[str]:
    period = _seconds(found.cpu_cfs_quota_period, 0.1)
    text = f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {_go(found.cpu_cfs_quota_period)}"
    if not _has(found, "CustomCPUCFSQuotaPeriod"):
        if period != 0.1:
            yield f"{text} requires feature gate CustomCPUCFSQuotaPeriod"
    elif not 0.001 <= period <= 1.0:
        yield f"{text} must be between 1ms and 1sec, inclusive"
    most = found.crash_loop_back_off.max_container_restart_period
    if most is None:
        return
    if not _has(found, "KubeletCrashLoopBackOffMax"):
        yield (
            "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod "
            "must not be set"
        )
    elif not 1.0 <= _seconds(most) <= 300.0:
        yield (
            f"CrashLoopBackOff.MaxContainerRestartPeriod (got: {_seconds(most):g} seconds) must be set "
            "between 1s and 300s"
        )


def _taints(found: KubeletConfiguration) -> Iterator[str]:
    for taint in found.register_with_taints:
        if taint.time_added is not None:
            yield "taint.TimeAdded is not nil"


def _choices(found: KubeletConfiguration) -> Iterator[str]:
    policy, scope, hairpin = found.topology_manager_policy, found.topology_manager_scope, found.hairpin_mode
    if policy and policy not in _TOPOLOGY_POLICIES:
        every = " ".join(f'"{each}"' for each in _TOPOLOGY_POLICIES)
        yield f'topologyManagerPolicy (--topology-manager-policy) "{policy}" must be one of: [{every}]'
    if scope not in ("", "container", "pod"):
        yield (
            f'topologyManagerScope (--topology-manager-scope) "{scope}" must be one of: "container", or "pod"'
        )
    if hairpin not in ("", "none", "hairpin-veth", "promiscuous-bridge"):
        yield (
            f'option "{hairpin}" specified for hairpinMode (--hairpin-mode). Valid options are "none", '
            '"hairpin-veth" or "promiscuous-bridge"'
        )
    verification = found.image_pull_credentials_verification_policy
    policies = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
    if verification and verification not in policies:
        yield (
            f'option "{verification}" specified for imagePullCredentialsVerificationPolicy. Valid options '
            f"are {_listed(policies)}"
        )


def _access(found: KubeletConfiguration) -> Iterator[str]:
    mode = found.authorization.mode
    if mode not in ("", "AlwaysAllow", "Webhook"):
        yield f'authorization.mode "{mode}" must be one of: "AlwaysAllow" or "Webhook"'


def _shutdown(found: KubeletConfiguration) -> Iterator[str]:
    total, critical = found.shutdown_grace_period, found.shutdown_grace_period_critical_pods
    by_priority = found.shutdown_grace_period_by_pod_priority
    if _has(found, "GracefulNodeShutdown"):
        if _seconds(critical) > _seconds(total):
            periods = _go(critical), _go(total)
            yield f"shutdownGracePeriodCriticalPods {periods[0]} must be <= shutdownGracePeriod {periods[1]}"
        named = (("shutdownGracePeriod", total), ("shutdownGracePeriodCriticalPods", critical))
        for name, text in named:
            if _seconds(text) != 0 and _seconds(text) < 1:
                yield f"{name} {_go(text)} must be either zero or otherwise >= 1 sec"
    elif _seconds(total) > 0 or _seconds(critical) > 0:
        yield (
            "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate "
            "GracefulNodeShutdown"
        )
    if not by_priority:
        return
    if not _has(found, "GracefulNodeShutdownBasedOnPodPriority"):
        yield (
            "Specifying shutdownGracePeriodByPodPriority requires feature gate "
            "GracefulNodeShutdownBasedOnPodPriority"
        )
    elif _seconds(total) > 0 or _seconds(critical) > 0:
        yield "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"


def _enforcement(found: KubeletConfiguration) -> Iterator[str]:
    wanted = found.enforce_node_allocatable
    option = "enforceNodeAllocatable (--enforce-node-allocatable)"
    if wanted is None:
        wanted = ("pods",)
    for owner in ("system-reserved", "kube-reserved"):
        if owner in wanted and f"{owner}-compressible" in wanted:
            yield f'both "{owner}" and "{owner}-compressible" cannot be specified together in {option}'
    cgroups = {"system": found.system_reserved_cgroup, "kube": found.kube_reserved_cgroup}
    seen: set[str] = set()
    for each in wanted:
        if each in seen:
            yield f'duplicated enforcements "{each}" in {option}'
            continue
        seen.add(each)
        if each == "none":
            if len(wanted) > 1:
                yield f'{option} may not contain additional enforcements when "none" is specified'
            continue
        if each not in (*_ENFORCEMENTS, _ENFORCEMENTS_KUBE):
            every = _listed((*_ENFORCEMENTS, _ENFORCEMENTS_KUBE, "none"))
            yield f'option "{each}" specified for {option}. Valid options are {every}'
            continue
        owner = each.partition("-")[0]
        if owner in cgroups and not cgroups[owner]:
            yield (
                f"{owner}ReservedCgroup (--{owner}-reserved-cgroup) must be specified when "
                f'"{owner}-reserved" or "{owner}-reserved-compressible" included in {option}'
            )
        if found.cgroups_per_qos is False:
            yield f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "{each}" contained in {option}'


def _reserved(found: KubeletConfiguration) -> Iterator[str]:
    if not found.reserved_system_cpus:
        return
    if found.system_reserved_cgroup or found.kube_reserved_cgroup:
        yield (
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
            "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
    if not _CPU_SET.fullmatch(found.reserved_system_cpus):
        text = found.reserved_system_cpus
        yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {text}, error: invalid CPU list"


def _memory(found: KubeletConfiguration) -> Iterator[str]:
    behavior = found.memory_swap.swap_behavior
    if behavior not in ("", "NoSwap", "LimitedSwap"):
        yield f'memorySwap.swapBehavior "{behavior}" must be one of: "", "LimitedSwap" or "NoSwap"'
    factor = found.memory_throttling_factor
    if factor is not None and not 0 < factor <= 1:
        yield f"memoryThrottlingFactor {factor:g} must be greater than 0 and less than or equal to 1.0"
    policy = found.memory_reservation_policy
    if policy == "TieredReservation" and not _has(found, "MemoryQoS"):
        yield f'memoryReservationPolicy "{policy}" requires MemoryQoS feature gate to be enabled'
    if policy not in ("", "None", "TieredReservation"):
        yield (
            f'option "{policy}" specified for memoryReservationPolicy. Valid options are "None" or '
            '"TieredReservation"'
        )


def _logs(found: KubeletConfiguration) -> Iterator[str]:
    if found.enable_system_log_query and found.enable_system_log_handler is False:
        yield "enableSystemLogHandler is required for enableSystemLogQuery"
    if found.container_log_max_workers is not None and found.container_log_max_workers < 1:
        yield "containerLogMaxWorkers must be greater than or equal to 1"
    interval = found.container_log_monitor_interval
    if interval is not None and _seconds(interval) < 3:
        yield "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
    if found.container_log_max_files is not None and found.container_log_max_files <= 1:
        yield "containerLogMaxFiles must be greater than 1"
    folder = found.pod_logs_dir
    if folder and not os.path.isabs(folder):
        yield f'pod logs path "{folder}" must be absolute path'
    if folder and os.path.normpath(folder) != folder:
        yield f'pod logs path "{folder}" must be normalized'


def _isolation(found: KubeletConfiguration) -> Iterator[str]:
    """Return what upstream's kubelet finds at its start (``pkg/kubelet/userns``, ``pkg/kubelet/sysctl``)."""
    length = found.user_namespaces.ids_per_pod if found.user_namespaces is not None else None
    if length is not None:
        pods = found.max_pods or _MAX_PODS
        if length <= 0 or length % IDS_UNIT:
            yield f"kubelet user namespace length {length} is not a multiple of {IDS_UNIT}"
        elif blocks(length) < pods:
            yield f"kubelet user assigned IDs are not enough to support {pods} pods"
    for pattern in found.allowed_unsafe_sysctls:
        name = dots_between_parts(pattern)
        if not namespace_of(name.removesuffix("*")):
            noun = "sysctls" if name.endswith("*") else "sysctl"
            yield f'the {noun} "{name}" are not known to be namespaced'


def _listed(names: Iterable[str]) -> str:
    *first, last = (f'"{name}"' for name in names)
    return f"{', '.join(first)} or {last}"
