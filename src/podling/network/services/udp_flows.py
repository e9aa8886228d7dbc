"""The UDP connections that changes of Services have made stale. Pure.

Upstream: ``CleanStaleEntries`` in ``pkg/proxy/conntrack/cleanup.go``. An entry is stale if it was sent to a
Service and is not answered by one of its serving endpoints: the endpoint is gone, or there was none when the
connection began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from podling.network.conntrack import Flow
from podling.network.services import addresses
from podling.network.services.endpoint_slices import SliceRecord, endpoints_of
from podling.network.services.service_ports import ServiceRecord

_PROTOCOL = "UDP"


class UdpService(Struct, frozen=True):
    """The addresses of a Service in one family where UDP is served, and the endpoints that may answer."""

    destinations: Mapping[bytes, frozenset[bytes]] = {}
    """By address and port."""
    node_ports: Mapping[bytes, frozenset[bytes]] = {}
    """By port, on any address."""

    def __bool__(self) -> bool:
        return bool(self.destinations or self.node_ports)


def udp_service(service: ServiceRecord, slices: Sequence[SliceRecord], family: str) -> UdpService:
    """Return what a Service serves by UDP."""
    found = next((each for each in service.families if each.family == family), None)
    destinations: dict[bytes, frozenset[bytes]] = {}
    node_ports: dict[bytes, frozenset[bytes]] = {}
    for port in service.ports if found else ():
        if found is None or port.protocol != _PROTOCOL:
            continue
        endpoints = endpoints_of(slices, family, port.name, port.protocol, "")
        serving = frozenset(each.target for each in endpoints if each.endpoint.serving)
        for address in (found.cluster_ip, *found.external_ips, *found.load_balancer_vips):
            destinations[addresses.target(address, port.port)] = serving
        if port.node_port:
            node_ports[addresses.target(b"", port.node_port)] = serving
    return UdpService(destinations, node_ports)


def without_endpoints(service: UdpService) -> UdpService:
    """Return what is left of a Service that is gone: no endpoint may answer for it."""
    nobody: frozenset[bytes] = frozenset()
    return UdpService(dict.fromkeys(service.destinations, nobody), dict.fromkeys(service.node_ports, nobody))


def stale(flows: Iterable[Flow], services: Iterable[UdpService]) -> list[Flow]:
    """Return the connections to ``services`` that none of their serving endpoints answers."""
    destinations: dict[bytes, frozenset[bytes]] = {}
    node_ports: dict[bytes, frozenset[bytes]] = {}
    for service in services:
        destinations.update(service.destinations)
        node_ports.update(service.node_ports)
    found = []
    for flow in flows:
        allowed = destinations.get(flow.destination)
        if allowed is None:
            allowed = node_ports.get(flow.destination[-2:])
        if allowed is not None and flow.answers_from not in allowed:
            found.append(flow)
    return found
