"""Service updates: allocated values that stay, and fields that a change of type clears.

Upstream: ``patchAllocatedValues`` and ``normalizeClusterIPs`` in ``pkg/registry/core/service/storage``,
``dropTypeDependentFields`` in ``pkg/registry/core/service/strategy.go``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import ServicePort, ServiceSpec
from podling.apiserver.kinds.common.filling import change, fill_empty, map_items
from podling.apiserver.kinds.networking.service_addresses import EXTERNAL_NAME
from podling.apiserver.kinds.networking.service_validation import externally_accessible, needs_health_check

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def with_allocated(new: ServiceSpec, old: ServiceSpec) -> ServiceSpec:
    """Return ``new`` with the allocated values of ``old`` that it omits: manifests rarely contain them."""
    if new.type == EXTERNAL_NAME:
        return new
    if old.type != EXTERNAL_NAME:
        new = fill_empty(new, cluster_ip=old.cluster_ip, cluster_ips=old.cluster_ips)
        if new.cluster_ip != old.cluster_ip and new.cluster_ips == old.cluster_ips:
            new = change(new, cluster_ips=(new.cluster_ip,))  # the client knows only the older field
        new = fill_empty(new, ip_families=old.ip_families, ip_family_policy=old.ip_family_policy)
    if new.type in _WITH_NODE_PORTS and old.type in _WITH_NODE_PORTS:
        new = _with_node_ports(new, old)
    if needs_health_check(new) and needs_health_check(old):
        new = fill_empty(new, health_check_node_port=old.health_check_node_port)
    return new


def _with_node_ports(new: ServiceSpec, old: ServiceSpec) -> ServiceSpec:
    """Return ``new`` with the node ports of its ports' names, unless another port has taken them."""
    known = {port.name or "": port.node_port for port in old.ports}
    used = {port.node_port for port in old.ports} & {port.node_port for port in new.ports}

    def keep_node_port(port: ServicePort) -> ServicePort:
        found = known.get(port.name or "")
        if port.node_port or not found or found in used:
            return port
        used.add(found)
        return change(port, node_port=found)

    return change(new, ports=map_items(new.ports, keep_node_port))


def clear_unused_fields(new: ServiceSpec, old: ServiceSpec) -> ServiceSpec:
    """Return ``new`` without the fields that its new type does not use, if they did not change."""
    if new.type == EXTERNAL_NAME and old.type != EXTERNAL_NAME:
        if new.cluster_ip in ("", old.cluster_ip):
            new = change(new, cluster_ip="", cluster_ips=())
        new = _clear_unchanged(new, old, ip_families=(), ip_family_policy=None)
    if old.type in _WITH_NODE_PORTS and new.type not in _WITH_NODE_PORTS:
        ports = [{port.node_port for port in spec.ports if port.node_port} for spec in (new, old)]
        if ports[0] == ports[1]:
            new = change(new, ports=map_items(new.ports, lambda port: change(port, node_port=0)))
    if needs_health_check(old) and not needs_health_check(new):
        new = _clear_unchanged(new, old, health_check_node_port=0)
    if old.type == "LoadBalancer" and new.type != "LoadBalancer":
        new = _clear_unchanged(new, old, allocate_load_balancer_node_ports=None, load_balancer_class=None)
    if externally_accessible(old) and not externally_accessible(new):
        new = _clear_unchanged(new, old, external_traffic_policy="")
    return new


def _clear_unchanged(new: ServiceSpec, old: ServiceSpec, **empty: Any) -> ServiceSpec:
    """Return ``new`` with these fields emptied, if they did not change."""
    same = {name: value for name, value in empty.items() if getattr(new, name) == getattr(old, name)}
    return change(new, **same)
