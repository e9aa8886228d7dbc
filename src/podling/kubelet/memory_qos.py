"""Memory QoS (feature gate ``MemoryQoS``): memory kept for a container, and throttling near its limit. Pure.

Files of cgroup version 2; version 1 has none of them. ``memory.high`` slows a container down before
it reaches its limit. With the policy ``TieredReservation``, ``memory.min`` keeps what Guaranteed
pods request, ``memory.low`` what Burstable ones do.
Upstream: ``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go``, ``pkg/kubelet/cm/helpers_linux.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import Container, PodSpec
from podling.kubelet.config import KubeletConfig
from podling.machinery.feature_gates import is_enabled
from podling.machinery.pods import GUARANTEED, pod_requests, qos_class
from podling.machinery.quantity import value

GATE = "MemoryQoS"
TIERED_RESERVATION = "TieredReservation"
PAGE = 4096


def container_memory_qos(
    spec: PodSpec, container: Container, config: KubeletConfig, allocatable: int
) -> dict[str, str]:
    """Return the container's files; ``allocatable`` stands for a limit where there is none."""
    if not is_enabled(GATE, config.feature_gates):
        return {}
    request = _bytes(container.resources.requests.get("memory"))
    limit = _bytes(container.resources.limits.get("memory"))
    found = {_reserving_file(spec): str(request)} if request and _reserves(config) else {}
    if request != limit:
        most = limit or allocatable
        high = int(request + config.memory_throttling_factor * (most - request)) // PAGE * PAGE
        if high > request:
            found["memory.high"] = str(high)
    return found


def pod_memory_qos(spec: PodSpec, config: KubeletConfig) -> dict[str, str]:
    """Return the files of the pod's cgroup, which must keep what its containers' keep."""
    request = pod_requests(spec).get("memory")
    if not is_enabled(GATE, config.feature_gates) or not _reserves(config) or request is None:
        return {}
    return {_reserving_file(spec): str(request.value)}


def tier_memory_qos(
    guaranteed: int, burstable: int, config: KubeletConfig
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of the node's cgroup and of the class Burstable's, by the bytes that pods request.

    A cgroup keeps memory only as far as all cgroups above it do (``setMemoryQoS``).
    """
    if not is_enabled(GATE, config.feature_gates) or not _reserves(config):
        return {}, {}
    return {"memory.min": str(guaranteed + burstable)}, {"memory.low": str(burstable)}


def _reserving_file(spec: PodSpec) -> str:
    return "memory.min" if qos_class(spec) == GUARANTEED else "memory.low"


def _reserves(config: KubeletConfig) -> bool:
    return config.memory_reservation_policy == TIERED_RESERVATION


def _bytes(amount: str | None) -> int:
    return value(amount) if amount is not None else 0
