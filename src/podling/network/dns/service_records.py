"""From Services and EndpointSlices to records. Pure.

Upstream: CoreDNS, ``plugin/kubernetes/object`` (``service.go``, ``endpoint.go``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Raw, Struct

from podling.api.core_v1 import Service
from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.network.dns.records import (
    ANY_PORT,
    NO_PORT,
    Address,
    Endpoints,
    Port,
    SlicedRecords,
    encode_endpoints,
)

SERVICE_NAME = "kubernetes.io/service-name"


class SliceRecords(Struct, frozen=True):
    """The part of an EndpointSlice that names follow from, encoded: 25 bytes for each endpoint.

    ``endpoints`` is empty where no endpoint is ready.
    """

    metadata: ObjectMeta
    service: str
    endpoints: bytes
    kind: str = "EndpointSlice"
    api_version: str = "discovery.k8s.io/v1"


def slice_records(found: EndpointSlice) -> SliceRecords:
    """Return the records of a slice: the transform of the informer.

    Not-ready endpoints are left out. ``publishNotReadyAddresses`` needs no rule here: the EndpointSlice
    controller marks such endpoints as ready.
    """
    metadata, ready = found.metadata, _endpoints(found)
    return SliceRecords(
        ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        ),
        metadata.labels.get(SERVICE_NAME, ""),
        encode_endpoints(ready) if ready.addresses else b"",
    )


def records_of(service: Service, slices: Iterable[SliceRecords]) -> SlicedRecords:
    """Return the records of ``service``; ``slices`` are those with its name in their label.

    The slices stay encoded, so that one change in a Service of many endpoints costs no more than a copy.
    """
    spec = service.spec
    namespace, name = service.metadata.namespace or "", service.metadata.name or ""
    if spec.type == "ExternalName":
        return SlicedRecords(namespace, name, external_name=spec.external_name or "")
    addresses = spec.cluster_ips or ((spec.cluster_ip,) if spec.cluster_ip else ())
    ports = tuple(
        Port(port.name or "", (port.protocol or "TCP").lower(), port.port) for port in spec.ports
    ) or (ANY_PORT,)
    return SlicedRecords(
        namespace,
        name,
        cluster_ips=tuple(address for address in addresses if address and address != "None"),
        ports=ports,
        endpoints=tuple(Raw(each.endpoints) for each in slices if each.endpoints),
    )


def _endpoints(found: EndpointSlice) -> Endpoints:
    ports = tuple(
        Port(port.name or "", (port.protocol or "").lower(), NO_PORT if port.port is None else port.port)
        for port in found.ports
    ) or (ANY_PORT,)
    addresses = tuple(
        Address(address, endpoint.hostname or "")
        for endpoint in found.endpoints
        if _is_ready(endpoint)
        for address in endpoint.addresses
    )
    return Endpoints(ports, addresses)


def _is_ready(endpoint: Endpoint) -> bool:
    """Return whether an endpoint is ready; one that does not say is."""
    return endpoint.conditions.ready is not False
