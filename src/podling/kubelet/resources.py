"""Conversion of requests and limits to cgroup values, and the pods' places in the cgroup tree. Pure.

The tree is ``<root>/[burstable/|besteffort/]pod<UID>``: Guaranteed pods lie directly under the root.
Numbers are those of ``pkg/kubelet/cm/helpers_linux.go`` and ``pkg/kubelet/qos/policy.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.core_v1 import Container, Pod, PodSpec
from podling.kubelet.config import KubeletConfig
from podling.kubelet.memory_qos import container_memory_qos, pod_memory_qos
from podling.kubelet.swap import NodeMemory, swap_bytes
from podling.kubelet.topology.cpu_rules import STATIC, exclusive_count
from podling.machinery.pods import (
    BEST_EFFORT,
    BURSTABLE,
    GUARANTEED,
    NODE_CRITICAL,
    is_sidecar,
    pod_limits,
    pod_requests,
    qos_class,
    regular_and_init,
)
from podling.machinery.quantity import milli_value, value
from podling.runtime.base import LinuxResources
from podling.runtime.values import SWAP_MAX

SHARES_MIN = 2
SHARES_MAX = 262144
QUOTA_MIN = 1000
QUOTA_MAX = (1 << 44) - 1
"""The largest quota that the kernel accepts (``MAX_BW`` in ``kernel/sched/core.c``), in microseconds."""

GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000


def cpu_shares(milli_cpu: int) -> int:
    return min(max(milli_cpu * 1024 // 1000, SHARES_MIN), SHARES_MAX)


def cpu_quota(milli_cpu: int, period: int) -> int | None:
    """Return microseconds of CPU per ``period`` microseconds; None: no limit."""
    if milli_cpu == 0:
        return None
    return min(max(milli_cpu * period // 1000, QUOTA_MIN), QUOTA_MAX)


def cgroup_parent(pod: Pod, config: KubeletConfig) -> str:
    """Return the path of the pod's cgroup below the root; empty if the kubelet creates no cgroups."""
    if not config.cgroups_per_qos:
        return ""
    return f"{tier_path(qos_class(pod.spec), config)}/pod{pod.metadata.uid}"


def tier_path(qos: str, config: KubeletConfig) -> str:
    """Return the path of the cgroup that holds the pods of a class."""
    tier = {BURSTABLE: "/burstable", BEST_EFFORT: "/besteffort"}.get(qos, "")
    return f"{config.cgroup_root}{tier}"


def oom_score_adj(spec: PodSpec, container: Container, memory_capacity: int) -> int:
    """Return the score of the container's processes when the kernel picks one to kill for memory."""
    if spec.priority_class_name == NODE_CRITICAL:
        return GUARANTEED_OOM_SCORE_ADJ
    qos = qos_class(spec)
    if qos == GUARANTEED:
        return GUARANTEED_OOM_SCORE_ADJ
    if qos == BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ
    own = _burstable_oom_score(_memory_request(spec, container), memory_capacity)
    if is_sidecar(container):
        smallest = min(
            (_burstable_oom_score(_memory_request(spec, c), memory_capacity) for c in spec.containers),
            default=own,
        )
        return min(own, smallest)
    return own


def _burstable_oom_score(memory_request: int, memory_capacity: int) -> int:
    score = 1000 - 1000 * memory_request // max(memory_capacity, 1)
    return min(max(score, 1000 + GUARANTEED_OOM_SCORE_ADJ), BEST_EFFORT_OOM_SCORE_ADJ - 1)


def _memory_request(spec: PodSpec, container: Container) -> int:
    """Return the container's request, with its equal part of what the pod requests beyond its containers."""
    own = _amount(container.resources.requests, "memory")
    pod_level = _amount(spec.resources.requests, "memory") if spec.resources is not None else 0
    if not pod_level:
        return own
    counted = [c for c in regular_and_init(spec) if c in spec.containers or is_sidecar(c)]
    rest = pod_level - sum(_amount(c.resources.requests, "memory") for c in counted)
    return own + max(rest, 0) // max(len(counted), 1)


def _amount(resources: Mapping[str, str], name: str) -> int:
    return value(resources[name]) if name in resources else 0


def _milli(resources: Mapping[str, str], name: str) -> int:
    return milli_value(resources[name]) if name in resources else 0


WHOLE_CONTAINER_OOM_KILL = {"memory.oom.group": "1"}
"""Kill all processes of a container that runs out of memory, not just one."""


def container_resources(
    pod: Pod, container: Container, config: KubeletConfig, node: NodeMemory
) -> LinuxResources:
    """Return one container's cgroup values. A container without a limit of its own has the pod's.

    A limit of zero is none. A request of zero is one: it does not follow the limit.
    """
    spec = pod.spec
    requests, limits = container.resources.requests, dict(container.resources.limits)
    if spec.resources is not None:
        for name in ("cpu", "memory"):
            if name in spec.resources.limits and not _milli(limits, name):
                limits[name] = spec.resources.limits[name]
    cpu_limit = _milli(limits, "cpu")
    cpu_request = _milli(requests, "cpu") if "cpu" in requests else cpu_limit
    period = int(config.cpu_cfs_quota_period * 1_000_000)
    limited = config.cpu_cfs_quota and not has_exclusive_cpus(spec, container, config)
    quota = cpu_quota(cpu_limit, period) if limited else None
    memory = _amount(limits, "memory") or None
    swap = swap_bytes(pod, container, config, node)
    return LinuxResources(
        cpu_shares=cpu_shares(cpu_request),
        cpu_quota=quota,
        cpu_period=period if quota is not None else None,
        memory_limit=memory,
        memory_swap_limit=memory + swap if memory is not None else None,
        oom_score_adj=oom_score_adj(spec, container, node.capacity),
        unified={
            **_huge_pages(limits),
            **({} if config.single_process_oom_kill else WHOLE_CONTAINER_OOM_KILL),
            **({SWAP_MAX: str(swap)} if node.swap else {}),
            **container_memory_qos(spec, container, config, node.allocatable or node.capacity),
        },
    )


def has_exclusive_cpus(spec: PodSpec, container: Container, config: KubeletConfig) -> bool:
    """Return whether the container gets CPUs of its own; a quota would only slow it down on them."""
    return config.cpu_manager_policy == STATIC and exclusive_count(spec, container) > 0


def _huge_pages(limits: Mapping[str, str]) -> dict[str, str]:
    """Return the limits of huge pages for cgroup v2: ``hugepages-2Mi`` is ``hugetlb.2MB.max``."""
    found = {}
    for name, amount in limits.items():
        if name.startswith("hugepages-"):
            size = value(name.removeprefix("hugepages-"))
            unit = f"{size >> 30}GB" if size >= 1 << 30 else f"{size >> 20}MB"
            found[f"hugetlb.{unit}.max"] = str(value(amount))
    return found


def pod_resources(spec: PodSpec, config: KubeletConfig) -> LinuxResources:
    """Return the cgroup values of the whole pod; it has a limit only if every container has one."""
    requests, limits = pod_requests(spec), pod_limits(spec)
    pids = config.pod_pids_limit if config.pod_pids_limit > 0 else None
    qos = qos_class(spec)
    if qos == BEST_EFFORT:
        return LinuxResources(cpu_shares=SHARES_MIN, pids_limit=pids)
    period = int(config.cpu_cfs_quota_period * 1_000_000)
    request = milli_value(str(requests["cpu"])) if "cpu" in requests else 0
    quota = memory = None
    exclusive = any(has_exclusive_cpus(spec, container, config) for container in regular_and_init(spec))
    limited = config.cpu_cfs_quota and not exclusive
    if "cpu" in limits and limited and (qos == GUARANTEED or _all_limited(spec, "cpu")):
        quota = cpu_quota(milli_value(str(limits["cpu"])), period)
    if "memory" in limits and (qos == GUARANTEED or _all_limited(spec, "memory")):
        memory = value(str(limits["memory"]))
    return LinuxResources(
        cpu_shares=cpu_shares(request),
        cpu_quota=quota,
        cpu_period=period if quota is not None else None,
        memory_limit=memory,
        pids_limit=pids,
        unified=pod_memory_qos(spec, config),
    )


def _all_limited(spec: PodSpec, name: str) -> bool:
    """Return whether the pod or each container has a limit; zero is none (``ResourceConfigForPod``)."""
    if spec.resources is not None and _milli(spec.resources.limits, name):
        return True
    return all(_milli(container.resources.limits, name) for container in regular_and_init(spec))
