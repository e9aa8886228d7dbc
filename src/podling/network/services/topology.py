"""Choosing the endpoints of a port that this node uses. Pure.

Upstream: ``CategorizeEndpoints`` in ``pkg/proxy/topology.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.network.services.endpoint_slices import PortEndpoint, SliceRecord, endpoints_of
from podling.network.services.service_ports import ServiceRecord

ANYWHERE = ""
SAME_ZONE = "PreferSameZone"
SAME_NODE = "PreferSameNode"


class Chosen(Struct, frozen=True):
    """The endpoints for each traffic policy."""

    cluster: tuple[PortEndpoint, ...] = ()
    local: tuple[PortEndpoint, ...] = ()
    has_any: bool = False
    """The port has usable endpoints somewhere in the cluster, even if none for this node."""


def choose(
    endpoints: Sequence[PortEndpoint], *, uses_cluster: bool, uses_local: bool, node: str, zone: str
) -> Chosen:
    """Return the endpoints that traffic of either policy uses.

    Ready endpoints are used; without any, those that still serve while they terminate, for each policy by
    itself. Hints restrict the endpoints of policy ``Cluster`` only as ``topology_mode`` says.
    """
    ready = [each for each in endpoints if each.endpoint.ready]
    ending = [
        each
        for each in endpoints
        if not each.endpoint.ready and each.endpoint.serving and each.endpoint.terminating
    ]
    cluster: list[PortEndpoint] = []
    local: list[PortEndpoint] = []
    if uses_cluster:
        mode = topology_mode(ready, node, zone)
        cluster = [each for each in ready if _is_available(each, mode, node, zone)] or ending
    if uses_local:
        local = [each for each in ready if each.is_local] or [each for each in ending if each.is_local]
    has_any = bool(cluster) or (uses_local and bool(ready or ending))
    return Chosen(tuple(cluster), tuple(local), has_any)


def topology_mode(ready: Sequence[PortEndpoint], node: str, zone: str) -> str:
    """Return which hints count: those of nodes or of zones, if every ready endpoint has one and at least one
    endpoint is meant for this node or its zone; nodes come before zones."""
    if not ready:
        return ANYWHERE
    if all(each.endpoint.node_hints for each in ready) and any(
        node in each.endpoint.node_hints for each in ready
    ):
        return SAME_NODE
    if all(each.endpoint.zone_hints for each in ready) and any(
        zone in each.endpoint.zone_hints for each in ready
    ):
        return SAME_ZONE
    return ANYWHERE


def _is_available(endpoint: PortEndpoint, mode: str, node: str, zone: str) -> bool:
    if mode == SAME_NODE:
        return node in endpoint.endpoint.node_hints
    if mode == SAME_ZONE:
        return zone in endpoint.endpoint.zone_hints
    return True


def policies_without_local(
    service: ServiceRecord, slices: Sequence[SliceRecord], family: str, node: str
) -> frozenset[str]:
    """Return the traffic policies, ``internal`` and ``external``, that are ``Local`` while a port of the
    Service has endpoints, but none on this node."""
    found = next((each for each in service.families if each.family == family), None)
    if found is None or not (service.internal_local or service.external_local):
        return frozenset()
    chosen = [
        choose(
            endpoints_of(slices, family, port.name, port.protocol, node),
            uses_cluster=service.uses_cluster_endpoints(found, port),
            uses_local=service.uses_local_endpoints(found, port),
            node=node,
            zone="",
        )
        for port in service.ports
    ]
    if not any(each.has_any and not each.local for each in chosen):
        return frozenset()
    policies = {"internal": service.internal_local, "external": service.external_local}
    return frozenset(name for name, is_local in policies.items() if is_local)
