"""The places where a Service is to be reached on this machine, and the endpoints behind each. Pure.

Every client is on this machine. So traffic to node ports and external addresses may go to any endpoint, also
under the external traffic policy ``Local`` (upstream: short-circuited traffic, ``pkg/proxy/serviceport.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address

from msgspec import Struct

from podling.api.core_v1 import Service
from podling.network.services.endpoint_slices import PortEndpoint, SliceRecord, endpoints_of
from podling.network.services.service_ports import FamilyRecord, PortRecord, ServiceRecord
from podling.network.services.topology import choose

LOOPBACK = {"ip": "127.0.0.1", "ip6": "::1"}
SUPPORTED = ("TCP", "UDP")
_ADDRESS_BYTES = {"ip": 4, "ip6": 16}

Target = tuple[str, int]
"""Address and port of an endpoint."""


class Place(Struct, frozen=True, order=True):
    """An address and port of this machine: its own, or a Service's on its loopback interface."""

    address: str
    port: int
    protocol: str

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}/{self.protocol}"


class Opening(Struct, frozen=True):
    """The endpoints behind a place; ``affinity_seconds`` is 0 where clients do not stay with theirs."""

    targets: tuple[Target, ...]
    affinity_seconds: int = 0


def openings_of(
    service: ServiceRecord, slices: Iterable[SliceRecord], node: str, is_own: Callable[[str], bool]
) -> dict[Place, Opening]:
    """Return the places of a Service. One without endpoints is missing, so that connections are refused.

    ``is_own``: whether an address is one of this machine's.
    """
    known = tuple(slices)
    found: dict[Place, Opening] = {}
    for family in service.families:
        for port in service.ports:
            if port.protocol not in SUPPORTED:
                continue
            endpoints = endpoints_of(known, family.family, port.name, port.protocol, node)
            chosen = choose(endpoints, uses_cluster=True, uses_local=True, node=node, zone="")
            inside = chosen.local if service.internal_local else chosen.cluster
            for place, behind in (
                *((place, inside) for place in _cluster_place(family, port)),
                *((place, chosen.cluster) for place in _outside_places(family, port, is_own)),
            ):
                if behind:
                    targets = tuple(_target(each, family.family) for each in behind)
                    found[place] = Opening(targets, service.affinity_seconds)
    return found


def api_openings(service: Service, record: ServiceRecord) -> dict[Place, Opening]:
    """Return the place of the API server's Service where it has no endpoints: the server listens on the
    loopback interface, whose addresses no endpoint can have. The Service names its port."""
    found: dict[Place, Opening] = {}
    for family in record.families:
        for port, described in zip(record.ports, service.spec.ports, strict=True):
            if isinstance(described.target_port, int):
                (place,) = _cluster_place(family, port)
                found[place] = Opening(((LOOPBACK["ip"], described.target_port),))
    return found


def _cluster_place(family: FamilyRecord, port: PortRecord) -> Iterator[Place]:
    yield Place(_text(family.cluster_ip), port.port, port.protocol)


def _outside_places(family: FamilyRecord, port: PortRecord, is_own: Callable[[str], bool]) -> Iterator[Place]:
    if port.node_port:
        yield Place(LOOPBACK[family.family], port.node_port, port.protocol)
    for packed in (*family.load_balancer_vips, *family.external_ips):
        address = _text(packed)
        if is_own(address):
            yield Place(address, port.port, port.protocol)


def _target(endpoint: PortEndpoint, family: str) -> Target:
    size = _ADDRESS_BYTES[family]
    return _text(endpoint.target[:size]), int.from_bytes(endpoint.target[size : size + 2])


def _text(packed: bytes) -> str:
    return str(ip_address(packed))


class Rotation:
    """The order in which connections of one place go to its endpoints: in turn, or by the client."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self._next = 0
        self._clients: dict[str, tuple[Target, float]] = {}
        """The endpoint of each client, and the moment until which it stays."""

    def order(self, client: str, now: float) -> tuple[Target, ...]:
        """Return the endpoints to try for a connection; the first that works is to be ``kept``."""
        targets = self.opening.targets
        kept = self._clients.get(client)
        if kept is not None and kept[1] > now and kept[0] in targets:
            first = targets.index(kept[0])
        else:
            first, self._next = self._next % len(targets), self._next + 1
        return targets[first:] + targets[:first]

    def keep(self, client: str, target: Target, now: float) -> None:
        """Send the client to this endpoint until its time without connections is over."""
        seconds = self.opening.affinity_seconds
        if seconds:
            self._forget_old(now)
            self._clients[client] = (target, now + seconds)

    def change(self, opening: Opening) -> None:
        self.opening = opening

    def _forget_old(self, now: float) -> None:
        old = [client for client, (_, until) in self._clients.items() if until <= now]
        for client in old:
            del self._clients[client]
