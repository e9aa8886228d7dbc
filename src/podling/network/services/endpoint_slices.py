"""EndpointSlices as small records, and the endpoints of a port that follow from them. Pure.

A cluster may have ten times as many endpoints as Services, so the informer holds these records and not the
objects. Upstream: ``pkg/proxy/endpointslicecache.go``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.network.services import addresses

SERVICE_NAME = "kubernetes.io/service-name"
PROXY_NAME = "service.kubernetes.io/service-proxy-name"
HEADLESS = "service.kubernetes.io/headless"
LAST_CHANGE = "endpoints.kubernetes.io/last-change-trigger-time"
_ADDRESS_FAMILIES = {"IPv4": "ip", "IPv6": "ip6"}


class EndpointRecord(Struct, frozen=True, gc=False):
    """One endpoint without its port."""

    address: bytes
    ready: bool
    serving: bool
    terminating: bool
    node: str
    zone_hints: tuple[str, ...] = ()
    node_hints: tuple[str, ...] = ()


class SlicePort(Struct, frozen=True, gc=False):
    name: str
    protocol: str
    port: int


class SliceRecord(Struct, frozen=True):
    """The part of an EndpointSlice that is held. ``service`` is empty if it does not concern the proxy."""

    metadata: ObjectMeta
    service: str
    family: str
    ports: tuple[SlicePort, ...]
    endpoints: tuple[EndpointRecord, ...]
    trigger: datetime | None = None
    """When the pod or Service changed that led to the last change of the slice."""
    kind: str = "EndpointSlice"
    api_version: str = "discovery.k8s.io/v1"


class PortEndpoint(Struct, frozen=True, gc=False):
    """An endpoint of one port: ``target`` is its address and port."""

    target: bytes
    is_local: bool
    endpoint: EndpointRecord


def slice_record(found: EndpointSlice) -> SliceRecord:
    """Return the record of a slice: the transform of the informer."""
    metadata = found.metadata
    family = _ADDRESS_FAMILIES.get(found.address_type, "")
    mine = bool(family) and PROXY_NAME not in metadata.labels and HEADLESS not in metadata.labels
    return SliceRecord(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        ),
        service=metadata.labels.get(SERVICE_NAME, "") if mine else "",
        family=family,
        ports=tuple(
            SlicePort(port.name or "", port.protocol or "TCP", port.port) for port in found.ports if port.port
        )
        if mine
        else (),
        endpoints=tuple(filter(None, (_endpoint(each, family) for each in found.endpoints))) if mine else (),
        trigger=_time(metadata.annotations.get(LAST_CHANGE, "")) if mine else None,
    )


def _time(text: str) -> datetime | None:
    """Return the time of an annotation; None if it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _endpoint(found: Endpoint, family: str) -> EndpointRecord | None:
    """Return an endpoint by its first address: an endpoint's addresses are equal to each other."""
    address = addresses.packed(found.addresses[0], family) if found.addresses else None
    if address is None:
        return None
    conditions, hints = found.conditions, found.hints
    return EndpointRecord(
        address=address,
        ready=conditions.ready is not False,
        serving=conditions.serving is not False,
        terminating=bool(conditions.terminating),
        node=sys.intern(found.node_name or ""),
        zone_hints=tuple(sys.intern(each.name) for each in hints.for_zones) if hints else (),
        node_hints=tuple(sys.intern(each.name) for each in hints.for_nodes) if hints else (),
    )


def endpoints_of(
    slices: Iterable[SliceRecord], family: str, name: str, protocol: str, node: str
) -> tuple[PortEndpoint, ...]:
    """Return the endpoints of a Service's port in the order of their addresses, each target once.

    A target that several slices have counts as local if one of them says so.
    """
    found: dict[bytes, PortEndpoint] = {}
    for each in slices:
        if each.family != family:
            continue
        for port in each.ports:
            if (port.name, port.protocol) != (name, protocol):
                continue
            for endpoint in each.endpoints:
                target = addresses.target(endpoint.address, port.port)
                is_local = endpoint.node == node
                if target not in found or is_local:
                    found[target] = PortEndpoint(target, is_local, endpoint)
    return tuple(found[target] for target in sorted(found))


def port_here(found: SliceRecord, own: Iterable[str], family: str) -> int:
    """Return the first port of a slice that has an endpoint at one of this machine's ``own`` addresses; 0 if
    it has none."""
    if found.family != family:
        return 0
    packed = {addresses.packed(each, family) for each in own}
    here = any(each.address in packed for each in found.endpoints)
    return found.ports[0].port if here and found.ports else 0
