"""The entries of this machine's kernel that lead to the pods of other machines, from the Node objects.

A machine is known by its nodes' first InternalIP. Nodes with the same address are on the same machine, whose
routing connects them already; one of them, the first by name, keeps the entries for all. Everything about a
peer follows from its Node: the address of its machine, the blocks of its pods, and the hardware address of
its tunnel, which is made from the machine's address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from msgspec import Struct

from podling.api.core_v1 import Node
from podling.machinery.network_ranges import VXLAN, Network

Address = IPv4Address | IPv6Address
VXLAN_PORT = 8472
"""The UDP port of tunnels: the one of Linux and of flannel. Nodes must reach each other on it."""
VXLAN_ID = 88
"""The number of the cluster's network in its tunnels (VNI)."""
OVERHEAD = {4: 50, 6: 70}
"""The bytes that a tunnel adds to a packet, by the family of the machines' addresses: outer Ethernet (14), IP
(20 or 40), UDP (8) and VXLAN (8)."""


def overhead(mode: str, address: str) -> int:
    """Return the bytes that the mode adds to packets between machines with addresses like ``address``."""
    return OVERHEAD[ip_address(address).version] if mode == VXLAN else 0


class Peer(Struct, frozen=True):
    """Another machine: its address, and the blocks of the pods of its nodes."""

    address: Address
    blocks: tuple[Network, ...]
    nodes: tuple[str, ...]


class Route(Struct, frozen=True):
    """A route to a peer's block. ``source`` is this machine's address in packets of its own."""

    block: Network
    gateway: Address
    source: Address | None


class Neighbour(Struct, frozen=True):
    """The hardware address of a gateway behind the tunnel."""

    address: Address
    hardware: bytes


class ForwardingEntry(Struct, frozen=True):
    """The machine to which the tunnel sends frames for a hardware address."""

    hardware: bytes
    machine: Address


class Tunnel(Struct, frozen=True):
    """The tunnel device of this machine.

    ``source`` is its address. Masquerading takes the address of the interface that a packet leaves by, and
    peers admit sources in this machine's blocks only.
    """

    local: Address
    hardware: bytes
    source: IPv4Address | None = None


class Plan(Struct, frozen=True, kw_only=True):
    """Everything that this machine needs to reach its peers' pods. Without peers all of it is empty."""

    tunnel: Tunnel | None = None
    routes: frozenset[Route] = frozenset()
    neighbours: frozenset[Neighbour] = frozenset()
    forwarding: frozenset[ForwardingEntry] = frozenset()
    peers: tuple[Peer, ...] = ()
    own_blocks: tuple[Network, ...] = ()

    @property
    def families(self) -> frozenset[int]:
        """The families of the peers' pods."""
        return frozenset(route.block.version for route in self.routes)


def hardware_address(machine: Address) -> bytes:
    """Return the hardware address of the tunnel of the machine with this address.

    It is locally administered. A machine's address of IPv4 is a part of it; one of IPv6 is digested.
    """
    if isinstance(machine, IPv4Address):
        return b"\x0a\x59" + machine.packed
    return b"\x0a\x5a" + hashlib.sha256(machine.packed).digest()[:4]


def internal_ip(node: Node) -> Address | None:
    """Return the address of the node's machine; None while it has none that others could reach."""
    for found in node.status.addresses:
        if found.type == "InternalIP":
            try:
                address = ip_address(found.address)
            except ValueError:
                return None
            return None if address.is_loopback or address.is_unspecified else address
    return None


def blocks_of(node: Node) -> tuple[Network, ...]:
    """Return the node's blocks of pod addresses."""
    found: list[Network] = []
    for text in node.spec.pod_cidrs:
        try:
            found.append(ip_network(text))
        except ValueError:
            continue
    return tuple(found)


def peers_of(nodes: Iterable[Node], own: Address) -> tuple[Peer, ...]:
    """Return the other machines with blocks, of the family of ``own``, in the order of their addresses.

    A block that nodes of two machines claim belongs to the node that was created first.
    """
    taken: list[Network] = []
    machines: dict[Address, tuple[list[Network], list[str]]] = {}
    for node in sorted(nodes, key=_age):
        address, mine = internal_ip(node), []
        for block in blocks_of(node):
            if not any(_overlap(block, other) for other in taken):
                mine.append(block)
        taken += mine
        if address is None or address == own or address.version != own.version or not mine:
            continue
        blocks, names = machines.setdefault(address, ([], []))
        blocks += mine
        names.append(node.metadata.name or "")
    return tuple(
        Peer(address, tuple(blocks), tuple(names))
        for address, (blocks, names) in sorted(machines.items(), key=lambda item: int(item[0]))
    )


def plan_of(name: str, nodes: Mapping[str, Node], mode: str) -> Plan | None:
    """Return the plan of the machine of the node ``name``.

    None if another of its nodes carries it out, or nothing can be known yet: then all stays as it is.
    """
    node = nodes.get(name)
    own = internal_ip(node) if node is not None else None
    if node is None or own is None:
        return None
    here = sorted(other for other, found in nodes.items() if internal_ip(found) == own)
    if here[0] != name:
        return None
    peers = peers_of(nodes.values(), own)
    own_blocks = tuple(block for other in here for block in blocks_of(nodes[other]))
    if not peers or not own_blocks:
        return Plan(own_blocks=own_blocks)
    sources = {block.version: block.network_address + 1 for block in reversed(blocks_of(node))}
    by_tunnel = mode == VXLAN
    return Plan(
        tunnel=Tunnel(own, hardware_address(own), _tunnel_source(blocks_of(node))) if by_tunnel else None,
        routes=frozenset(
            Route(block, block.network_address if by_tunnel else peer.address, sources.get(block.version))
            for peer in peers
            for block in peer.blocks
            if by_tunnel or block.version == peer.address.version
        ),
        neighbours=frozenset(
            Neighbour(block.network_address, hardware_address(peer.address))
            for peer in peers
            for block in peer.blocks
            if by_tunnel
        ),
        forwarding=frozenset(
            ForwardingEntry(hardware_address(peer.address), peer.address) for peer in peers if by_tunnel
        ),
        peers=peers,
        own_blocks=own_blocks,
    )


def _tunnel_source(blocks: Iterable[Network]) -> IPv4Address | None:
    """Return the first address of the node's block, which no pod has. For IPv6 the kernel finds one."""
    return next((block.network_address for block in blocks if isinstance(block, IPv4Network)), None)


def _age(node: Node) -> tuple[float, str]:
    created = node.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0), node.metadata.name or ""


def _overlap(one: Network, other: Network) -> bool:
    if isinstance(one, IPv4Network):
        return isinstance(other, IPv4Network) and one.overlaps(other)
    return isinstance(other, IPv6Network) and one.overlaps(other)
