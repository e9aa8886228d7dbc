"""Index of the numbers that stored objects have: addresses and node ports of Services, and their ranges.

It follows the store as roles are followed (``auth/rbac``): each look-up first takes in the store's changes.
So an allocation costs the same however many Services there are, and sees every Service that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

from msgspec import Struct

from podling.api.core_v1 import Service, ServiceSpec
from podling.api.networking_v1 import IPAddress, ServiceCIDR
from podling.apiserver.registry.address_pool import Address, parse_address
from podling.apiserver.registry.objects import object_of
from podling.machinery import conditions
from podling.machinery.network_ranges import Network
from podling.machinery.scheme import resource_of
from podling.store.base import Entry, EventType, Store, Watch, WatchOverflow

MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
MANAGER = "ipallocator.k8s.io"
"""The label of the IPAddresses that stand for addresses of Services, and its value."""
DEFAULT_SERVICE_CIDR = "kubernetes"


class _Held(Struct, frozen=True):
    """The numbers of one Service."""

    addresses: frozenset[Address]
    ports: frozenset[int]


class ServiceNumbers:
    """The numbers in ``store``. ``close`` it to end its watches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._put: dict[str, Callable[[str, Entry], None]] = {
            resource_of(Service).key_prefix: self._put_service,
            resource_of(IPAddress).key_prefix: self._put_address,
            resource_of(ServiceCIDR).key_prefix: self._put_range,
        }
        self._watches: dict[str, Watch] = {}
        self._clear()

    def _clear(self) -> None:
        self._services: dict[str, _Held] = {}
        self._addresses: dict[Address, set[str]] = {}
        self._ports: dict[int, set[str]] = {}
        self._foreign: dict[str, Address] = {}
        self._foreign_addresses: set[Address] = set()
        self._ranges: dict[str, tuple[Network, ...]] = {}

    async def catch_up(self) -> None:
        """Take in what changed. The first call, and one after very many changes, reads everything."""
        try:
            if self._watches:
                self._drain()
                return
        except WatchOverflow:
            pass
        await self._load()
        self._drain()

    async def _load(self) -> None:
        pages = {prefix: await self._store.list(prefix) for prefix in self._put}
        self.close()
        self._clear()
        for prefix, page in pages.items():
            for entry in page.entries:
                self._put[prefix](entry.key, entry)
            self._watches[prefix] = self._store.watch(prefix, after=page.revision)

    def close(self) -> None:
        watches, self._watches = self._watches, {}
        for watch in watches.values():
            watch.close()

    def _drain(self) -> None:
        for prefix, watch in self._watches.items():
            if not watch.behind:
                continue
            for event in watch.ready():
                self._remove(event.entry.key)
                if event.type is not EventType.DELETE:
                    self._put[prefix](event.entry.key, event.entry)

    # ---- answers

    def has_address(self, address: Address, except_for: str = "") -> bool:
        """Return whether a Service, or an IPAddress that stands for something else, has an address.

        ``except_for``: the key of the Service that may have it.
        """
        if address in self._foreign_addresses:
            return True
        holders = self._addresses.get(address)
        return bool(holders) and holders != {except_for}

    def has_port(self, port: int, except_for: str = "") -> bool:
        """Return whether a Service has a node port."""
        holders = self._ports.get(port)
        return bool(holders) and holders != {except_for}

    def ranges(self, version: int) -> Iterator[Network]:
        """Yield the ranges of one family from which addresses may be taken, the default range first."""
        names = sorted(self._ranges, key=lambda name: (name != DEFAULT_SERVICE_CIDR, name))
        found = (each for name in names for each in self._ranges[name] if each.version == version)
        yield from dict.fromkeys(found)

    def is_current(self) -> bool:
        """Take in what changed; return whether that was possible without reading everything."""
        try:
            self._drain()
        except WatchOverflow:
            return False
        return bool(self._watches)

    def count_in(self, network: Network) -> int:
        """Return how many addresses of a range Services have."""
        version, first, last = network.version, int(network.network_address), int(network.broadcast_address)
        return sum(first <= int(each) <= last for each in self._addresses if each.version == version)

    def count_ports(self, ports: range) -> int:
        """Return how many of these ports Services have."""
        return sum(port in ports for port in self._ports)

    # ---- changes

    def _put_service(self, key: str, entry: Entry) -> None:
        spec = object_of(entry, Service).spec
        held = _Held(frozenset(addresses_of(spec)), frozenset(ports_of(spec)))
        if not (held.addresses or held.ports):
            return
        self._services[key] = held
        for address in held.addresses:
            self._addresses.setdefault(address, set()).add(key)
        for port in held.ports:
            self._ports.setdefault(port, set()).add(key)

    def _put_address(self, key: str, entry: Entry) -> None:
        obj = object_of(entry, IPAddress)
        address = parse_address(obj.metadata.name)
        if address is not None and obj.metadata.labels.get(MANAGED_BY) != MANAGER:
            self._foreign[key] = address
            self._foreign_addresses.add(address)

    def _put_range(self, key: str, entry: Entry) -> None:
        obj = object_of(entry, ServiceCIDR)
        if is_ready(obj):
            self._ranges[obj.metadata.name or ""] = networks_of(obj)

    def _remove(self, key: str) -> None:
        held = self._services.pop(key, None)
        if held is not None:
            for address in held.addresses:
                _discard(self._addresses, address, key)
            for port in held.ports:
                _discard(self._ports, port, key)
        foreign = self._foreign.pop(key, None)
        if foreign is not None:
            self._foreign_addresses.discard(foreign)
        if key.startswith(resource_of(ServiceCIDR).key_prefix):
            self._ranges.pop(key.rpartition("/")[2], None)


def is_ready(obj: ServiceCIDR) -> bool:
    """Return whether addresses may be taken from a ServiceCIDR.

    It must not be being deleted, and no controller may have found that it is not ready.
    """
    ready = conditions.find(obj.status.conditions, "Ready")
    return obj.metadata.deletion_timestamp is None and (ready is None or ready.status == "True")


def networks_of(obj: ServiceCIDR) -> tuple[Network, ...]:
    return tuple(ip_network(cidr) for cidr in obj.spec.cidrs)


def addresses_of(spec: ServiceSpec) -> Iterator[Address]:
    """Yield the cluster addresses of a Service."""
    if spec.type == "ExternalName":
        return
    for text in spec.cluster_ips or (spec.cluster_ip or "",):
        address = parse_address(text)
        if address is not None:
            yield address


def ports_of(spec: ServiceSpec) -> Iterator[int]:
    """Yield the node ports of a Service, with the one for health checks."""
    yield from (port.node_port for port in spec.ports if port.node_port)
    if spec.health_check_node_port:
        yield spec.health_check_node_port


def _discard(index: dict[Any, set[str]], number: object, key: str) -> None:
    holders = index.get(number)
    if holders is not None:
        holders.discard(key)
        if not holders:
            del index[number]
