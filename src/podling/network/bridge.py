"""One node's bridge and its ports, as the kernel has them. Blocking: every method runs in a thread.

``set_up`` and ``connect`` can be repeated: they make what is missing and leave the rest, so the same call
serves a first start, a restart, and the repair of what another program deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from podling.network import ipv6
from podling.network.blocks import Blocks
from podling.network.guard import hardware_address, port_name
from podling.network.kernel_settings import write as _write
from podling.network.leases import Lease
from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink
from podling.network.netlink.wire import Message
from podling.runtime.oci import linux

POD_INTERFACE = "eth0"
_IP_FORWARD = "/proc/sys/net/ipv4/ip_forward"
_IPV4 = "/proc/sys/net/ipv4/conf"
_IPV6 = "/proc/sys/net/ipv6/conf"


class Bridge:
    """The bridge ``name`` of one node; ``cluster_id`` names its ports."""

    def __init__(self, name: str, cluster_id: str) -> None:
        self.name = name
        self._cluster_id = cluster_id

    def port(self, address: str) -> str:
        return port_name(self._cluster_id, IPv4Address(address))

    def has_port(self, address: str) -> bool:
        """Return whether the pod with ``address`` still has its interface, on the bridge or off it."""
        return bool(interfaces.index_of(self.port(address)))

    def set_up(self, blocks: Blocks, mtu: int, leases: Iterable[Lease]) -> None:
        """Make the bridge, or find it again, and connect the pods with ``leases`` to it.

        Raises ``OSError``.
        """
        with Netlink() as kernel:
            if not interfaces.index_of(self.name):
                kernel.request([links.add_bridge(self.name, hardware_address(blocks.gateway), mtu)])
            index = interfaces.index_of(self.name)
            if blocks.ipv6 is None:
                _no_ipv6(self.name)
            else:
                ipv6.prepare_node(self.name)
            kernel.request([links.set_up(index), *_own_addresses(index, blocks)])
            for lease in leases:
                if port := interfaces.index_of(self.port(lease.address)):
                    _no_ipv6(self.port(lease.address))
                    kernel.request([links.set_master(port, index), links.set_up(port)])
                    kernel.request([*_port_options(port, lease.address), *_neighbours(index, lease, blocks)])
        for path, value in self._settings():
            _write(path, value)

    def _settings(self) -> list[tuple[str, str]]:
        """Return the kernel's settings that pods need. ``route_localnet`` lets host ports answer on loopback;
        ``firewall`` keeps pods from using it. Redirects would lead past the node's address translation."""
        own = f"{_IPV4}/{self.name}"
        return [
            (_IP_FORWARD, "1"),
            (f"{own}/route_localnet", "1"),
            (f"{own}/send_redirects", "0"),
            (f"{own}/accept_redirects", "0"),
        ]

    def missing(self, blocks: Blocks, addresses: Iterable[str]) -> str:
        """Return what is broken, for people; empty when nothing is. Raises ``OSError``."""
        index = interfaces.index_of(self.name)
        if not index:
            return f"the bridge {self.name} is gone"
        if not interfaces.is_up(self.name):
            return f"the bridge {self.name} is down"
        for gateway in (blocks.gateway, blocks.gateway6):
            if gateway is not None and not interfaces.has_address(gateway.packed):
                return f"the bridge {self.name} has lost its address {gateway}"
        off = _cut_off(index, map(self.port, addresses))
        if off:
            return f"pods are cut off from the bridge {self.name}: {', '.join(sorted(off))}"
        wanted = self._settings() + (ipv6.node_settings(self.name) if blocks.ipv6 is not None else [])
        wrong = [path for path, value in wanted if Path(path).read_text().strip() != value]
        return f"{wrong[0]} was changed" if wrong else ""

    def connect(self, lease: Lease, blocks: Blocks, mtu: int, namespace: Path) -> None:
        """Give the pod whose network namespace is pinned at ``namespace`` its interface.

        The calling thread ends up inside that namespace, so it must be one of its own. Raises ``OSError``.
        """
        own = IPv4Address(lease.address)
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            name = self.port(lease.address)
            if not interfaces.index_of(name):
                bridge = interfaces.index_of(self.name)
                veth = links.Veth(
                    name=name,
                    bridge=bridge,
                    mtu=mtu,
                    peer_name=POD_INTERFACE,
                    peer_namespace=descriptor,
                    peer_address=hardware_address(own),
                )
                with Netlink() as kernel:
                    kernel.request([links.add_veth(veth)])
                    options = _port_options(interfaces.index_of(name), lease.address)
                    kernel.request([*options, *_neighbours(bridge, lease, blocks)])
                _no_ipv6(name)
            linux.setns(descriptor, linux.CLONE_NEWNET)
        finally:
            os.close(descriptor)
        _settings_in_pod()
        interface = interfaces.index_of(POD_INTERFACE)
        with Netlink() as kernel:
            kernel.request(
                [
                    links.set_up(interfaces.index_of("lo")),
                    links.set_up(interface),
                    links.add_address(interface, own.packed, 32),
                    links.add_route(interface, blocks.gateway.packed, on_link=True),
                    *_second_in_pod(interface, lease, blocks),
                ]
            )

    def disconnect(self, address: str) -> None:
        _delete_link(self.port(address))

    def delete(self) -> None:
        _delete_link(self.name)


def _cut_off(bridge: int, ports: Iterable[str]) -> set[str]:
    """Return those of ``ports`` that exist but are not on the bridge. Raises ``OSError``.

    A pod may be connected after the bridge's ports were listed: they are listed once more.
    """
    off = set(ports)
    with Netlink() as kernel:
        for _ in range(2):
            off = {found for found in off - kernel.ports(bridge) if interfaces.index_of(found)}
            if not off:
                break
    return off


def _own_addresses(index: int, blocks: Blocks) -> list[Message]:
    """Return the messages that give the bridge its addresses."""
    found = [links.add_address(index, blocks.gateway.packed, blocks.ipv4.prefixlen)]
    if blocks.ipv6 is not None and blocks.gateway6 is not None:
        found.append(links.add_address(index, blocks.gateway6.packed, blocks.ipv6.prefixlen))
    return found


def _neighbours(bridge: int, lease: Lease, blocks: Blocks) -> list[Message]:
    """Return the message by which the node knows the pod behind an IPv6 address.

    A pod may have one from the time when the cluster had both families.
    """
    if not lease.second or blocks.ipv6 is None:
        return []
    hardware = hardware_address(IPv4Address(lease.address))
    return [links.add_neighbour(bridge, IPv6Address(lease.second).packed, hardware)]


def _second_in_pod(interface: int, lease: Lease, blocks: Blocks) -> list[Message]:
    """Return the messages that give a pod its IPv6 address, its way out and the neighbour on it."""
    if not lease.second or blocks.gateway6 is None:
        return []
    gateway = blocks.gateway6.packed
    return [
        links.add_address(interface, IPv6Address(lease.second).packed, 128),
        links.add_neighbour(interface, gateway, hardware_address(blocks.gateway)),
        links.add_route(interface, gateway, on_link=True),
    ]


def _port_options(index: int, address: str) -> list[Message]:
    own = hardware_address(IPv4Address(address))
    return [links.set_port(index), links.add_forwarding_entry(index, own)]


def _settings_in_pod() -> None:
    """Refuse redirects and router advertisements: they would teach pods a way past the node."""
    for scope in ("all", "default", POD_INTERFACE):
        _write(f"{_IPV4}/{scope}/accept_redirects", "0")
    for scope in ("default", POD_INTERFACE):
        _write_ipv6(scope, "accept_ra", "0")
        _write_ipv6(scope, "accept_redirects", "0")


def _no_ipv6(interface: str) -> None:
    """Keep the node from listening to IPv6 on an interface of the pod network: pods have none."""
    _write_ipv6(interface, "accept_ra", "0")
    _write_ipv6(interface, "disable_ipv6", "1")


def _write_ipv6(interface: str, setting: str, text: str) -> None:
    with suppress(FileNotFoundError):  # a kernel without IPv6
        _write(f"{_IPV6}/{interface}/{setting}", text)


def _delete_link(name: str) -> None:
    if interfaces.index_of(name):
        with Netlink() as kernel:
            kernel.request([links.delete_link(name)])
