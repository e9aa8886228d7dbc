"""The subsets of a Service's Endpoints: ready and not ready addresses by the ports that they share. Pure.

Upstream: ``syncService`` and ``truncateEndpoints`` in ``pkg/controller/endpoint``, ``RepackSubsets`` in
``pkg/api/v1/endpoints``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    EndpointSubset,
    ObjectReference,
    Pod,
    Service,
)
from podling.controllers.endpoints import endpoint_rules as rules
from podling.machinery.pods import is_ready

ADDRESSES_MAX = 1000
"""The number of addresses that an Endpoints object has at most."""

_Address = tuple[str, str]
"""The IP of an address, and the UID of its pod."""


def subsets_of(service: Service, pods: Iterable[Pod]) -> tuple[EndpointSubset, ...]:
    """Return the service's addresses; ports with the same addresses are together."""
    addresses: dict[_Address, EndpointAddress] = {}
    by_port: dict[EndpointPort | None, dict[_Address, bool]] = {}
    everyone = bool(service.spec.publish_not_ready_addresses)
    for pod in pods:
        address = _address(service, pod)
        if address is None or (pod.metadata.deletion_timestamp is not None and not everyone):
            continue
        key = address.ip, pod.metadata.uid or ""
        addresses[key] = address
        for port in _ports(service, pod):
            readiness = by_port.setdefault(port, {})
            readiness[key] = readiness.get(key, True) and (everyone or is_ready(pod))
    return _grouped(addresses, by_port)


def repacked(subsets: Iterable[EndpointSubset]) -> tuple[EndpointSubset, ...]:
    """Return subsets in canonical form: each address is in one of them for all ports that it serves."""
    addresses: dict[_Address, EndpointAddress] = {}
    by_port: dict[EndpointPort | None, dict[_Address, bool]] = {}
    for subset in subsets:
        for port in subset.ports or (None,):
            for each, ready in [
                *((each, True) for each in subset.addresses),
                *((each, False) for each in subset.not_ready_addresses),
            ]:
                key = each.ip, (each.target_ref.uid or "") if each.target_ref is not None else ""
                addresses.setdefault(key, each)
                readiness = by_port.setdefault(port, {})
                readiness[key] = readiness.get(key, True) and ready
    return _grouped(addresses, by_port)


def _grouped(
    addresses: Mapping[_Address, EndpointAddress],
    by_port: Mapping[EndpointPort | None, Mapping[_Address, bool]],
) -> tuple[EndpointSubset, ...]:
    """Return a subset for each set of addresses that serve the same ports."""
    by_addresses: dict[tuple[tuple[_Address, bool], ...], list[EndpointPort]] = {}
    for port, readiness in by_port.items():
        ports = by_addresses.setdefault(tuple(sorted(readiness.items())), [])
        ports.extend(() if port is None else (port,))
    found = (
        EndpointSubset(
            addresses=tuple(addresses[key] for key, ready in members if ready),
            not_ready_addresses=tuple(addresses[key] for key, ready in members if not ready),
            ports=tuple(sorted(ports, key=lambda port: (port.name, port.port, port.protocol))),
        )
        for members, ports in by_addresses.items()
    )
    return tuple(sorted(found, key=lambda subset: repr(subset.ports)))


def _ports(service: Service, pod: Pod) -> Iterator[EndpointPort | None]:
    """Return the ports under which a pod serves; None for a headless Service, which needs no ports."""
    if not service.spec.ports and service.spec.cluster_ip == "None":
        yield None
    for each in rules.ports_of(service, pod):
        yield EndpointPort(
            name=each.name or "",
            port=each.port or 0,
            protocol=each.protocol or "",
            app_protocol=each.app_protocol,
        )


def _address(service: Service, pod: Pod) -> EndpointAddress | None:
    """Return the pod's address in the Service's first family; None if it has none, or has ended."""
    own = rules.addresses_of(pod, _family(service, pod)) if rules.may_serve(pod) else ()
    if not own:
        return None
    in_subdomain = pod.spec.hostname and pod.spec.subdomain == service.metadata.name
    return EndpointAddress(
        ip=own[0],
        hostname=pod.spec.hostname if in_subdomain else "",
        node_name=pod.spec.node_name or None,
        target_ref=ObjectReference(
            kind="Pod", namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid
        ),
    )


def _family(service: Service, pod: Pod) -> str:
    """Return the address family of a Service; a headless one without families has that of each pod."""
    types = rules.address_types(service)
    if service.spec.ip_families or len(types) == 1:
        return types[0]
    return "IPv6" if ":" in (pod.status.pod_ip or "") else "IPv4"


def truncated(subsets: Sequence[EndpointSubset]) -> tuple[EndpointSubset, ...] | None:
    """Return subsets with a thousand addresses, ready ones before others; None if there are no more.

    Each subset keeps a share like its share of all, rounded up; the last ones get less.
    """
    ready = sum(len(each.addresses) for each in subsets)
    waiting = sum(len(each.not_ready_addresses) for each in subsets)
    if ready + waiting <= ADDRESSES_MAX:
        return None
    capacity, total = (ADDRESSES_MAX, ready) if ready > ADDRESSES_MAX else (ADDRESSES_MAX - ready, waiting)
    left, kept = capacity, []
    for each in subsets:
        if ready > ADDRESSES_MAX:
            count = min(left, math.ceil(len(each.addresses) / total * capacity))
            kept.append(structs.replace(each, addresses=each.addresses[:count], not_ready_addresses=()))
            left -= len(kept[-1].addresses)
        else:
            count = min(left, math.ceil(len(each.not_ready_addresses) / total * capacity))
            kept.append(structs.replace(each, not_ready_addresses=each.not_ready_addresses[:count]))
            left -= len(kept[-1].not_ready_addresses)
    return tuple(kept)
