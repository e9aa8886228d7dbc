"""Limits of the cgroups above the pods: the node's, and one for each class below Guaranteed. Pure.

The node's cgroup has what is not reserved for the system and the kubelet, so pods together cannot take more.
The class Burstable has CPU time in proportion to what its pods request, BestEffort the least there is.
Upstream: ``pkg/kubelet/cm/qos_container_manager_linux.go``, ``node_container_manager_linux.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from podling.api.core_v1 import PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.memory_qos import tier_memory_qos
from podling.kubelet.node.allocatable import allocatable
from podling.kubelet.resources import SHARES_MIN, cpu_shares, tier_path
from podling.machinery.pods import BEST_EFFORT, BURSTABLE, GUARANTEED, pod_requests, qos_class
from podling.machinery.quantity import milli_value, value
from podling.runtime.base import LinuxResources

PODS = "pods"
"""The value of ``enforceNodeAllocatable`` that limits all pods together to what is not reserved."""


def tier_limits(
    specs: Iterable[PodSpec], config: KubeletConfig, capacity: Mapping[str, str]
) -> dict[str, LinuxResources]:
    """Return the limits by cgroup, parents first.

    Args:
        specs: the pods that hold resources of the node, with the resources granted to them.
        capacity: the node's capacity; ``pid`` is its number of processes, if that is to be limited.
    """
    if not config.cgroups_per_qos:
        return {}
    milli_cpu, memory = {BURSTABLE: 0, GUARANTEED: 0}, {BURSTABLE: 0, GUARANTEED: 0}
    for spec in specs:
        qos, requests = qos_class(spec), pod_requests(spec)
        if qos == BEST_EFFORT:
            continue
        milli_cpu[qos] += milli_value(str(requests["cpu"])) if "cpu" in requests else 0
        memory[qos] += requests["memory"].value if "memory" in requests else 0
    of_node, of_burstable = tier_memory_qos(memory[GUARANTEED], memory[BURSTABLE], config)
    return {
        tier_path(GUARANTEED, config): replace(_node_limits(config, capacity), unified=of_node),
        tier_path(BURSTABLE, config): LinuxResources(
            cpu_shares=cpu_shares(milli_cpu[BURSTABLE]), unified=of_burstable
        ),
        tier_path(BEST_EFFORT, config): LinuxResources(cpu_shares=SHARES_MIN),
    }


def _node_limits(config: KubeletConfig, capacity: Mapping[str, str]) -> LinuxResources:
    """Return the limits of all pods together. Eviction thresholds do not count: evictions keep to them."""
    left = dict(capacity)
    if PODS in config.enforce_node_allocatable:
        left = allocatable(capacity, replace(config, eviction_hard={}))
    reserved = {**config.system_reserved, **config.kube_reserved}
    return LinuxResources(
        cpu_shares=cpu_shares(milli_value(left["cpu"])) if "cpu" in left else None,
        memory_limit=value(left["memory"]) if "memory" in left else None,
        pids_limit=value(left["pid"]) if "pid" in left and "pid" in reserved else None,
    )
