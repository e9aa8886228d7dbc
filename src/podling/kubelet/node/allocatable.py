"""The resources that pods may request of a node: capacity without reservations and thresholds. Pure.

Upstream: ``pkg/kubelet/cm/node_container_manager_linux.go`` (``GetNodeAllocatableReservation``),
``pkg/kubelet/nodestatus/setters.go`` (``MachineInfo``).
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.node_pressure import thresholds
from podling.kubelet.topology.cpu_sets import parse_cpus
from podling.machinery.pods import Resources
from podling.machinery.quantity import ZERO, Format, of, parse
from podling.machinery.resource_names import is_huge_page

_KEPT_BY_THRESHOLDS = {"memory.available": "memory", "nodefs.available": "ephemeral-storage"}
"""The signals whose hard thresholds pods can never use up, with the resource of each."""


def reservations(config: KubeletConfig, capacity: Mapping[str, str]) -> Resources:
    """Return what pods may not request, by resource: for the system, the kubelet, and hard thresholds."""
    total: Resources = {}
    kept = [dict(config.system_reserved), dict(config.kube_reserved)]
    if config.reserved_system_cpus:
        kept[0].pop("cpu", None)
        kept[1]["cpu"] = str(len(parse_cpus(config.reserved_system_cpus)))
    for reserved in kept:
        for name, amount in reserved.items():
            total[name] = total[name] + parse(amount) if name in total else parse(amount)
    for threshold in thresholds(config.eviction_hard, {}, {}):
        resource = _KEPT_BY_THRESHOLDS.get(threshold.signal)
        if resource is None or resource not in capacity:
            continue
        limit = of(threshold.limit(parse(capacity[resource]).value), Format.BINARY_SI)
        total[resource] = total[resource] + limit if resource in total else limit
    return total


def allocatable(capacity: Mapping[str, str], config: KubeletConfig) -> dict[str, str]:
    """Return what pods may request; memory does not include that in huge pages."""
    left = {name: parse(amount) for name, amount in capacity.items()}
    for name, amount in reservations(config, capacity).items():
        if name in left:
            left[name] = left[name] - amount
    for name, text in capacity.items():
        if is_huge_page(name) and "memory" in left:
            left["memory"] = left["memory"] - parse(text)
    return {name: str(amount if amount > ZERO else ZERO) for name, amount in left.items()}
