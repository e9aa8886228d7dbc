"""The netlink messages that give a pod its network: links, bridge ports, addresses, routes, neighbours. Pure.

Source: rtnetlink(7), linux/if_link.h, linux/neighbour.h.
"""

from __future__ import annotations

from ipaddress import ip_address

from msgspec import Struct

from podling.network.netlink.wire import (
    ADDRESS,
    AF_BRIDGE,
    AF_INET6,
    AF_UNSPEC,
    IFA_ADDRESS,
    IFA_F_NODAD,
    IFA_LOCAL,
    IFF_UP,
    IFLA_ADDRESS,
    IFLA_IFNAME,
    IFLA_INFO_DATA,
    IFLA_INFO_KIND,
    IFLA_LINKINFO,
    IFLA_MASTER,
    IFLA_MTU,
    IFLA_NET_NS_FD,
    IFLA_PROTINFO,
    LINK,
    NDA_DST,
    NDA_LLADDR,
    NEIGHBOUR,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    NTF_MASTER,
    NUD_NOARP,
    NUD_PERMANENT,
    ROUTE,
    RT_TABLE_MAIN,
    RTA_DST,
    RTA_GATEWAY,
    RTA_OIF,
    RTM_DELADDR,
    RTM_DELLINK,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWNEIGH,
    RTM_NEWROUTE,
    RTM_SETLINK,
    RTN_UNICAST,
    RTNH_F_ONLINK,
    RTPROT_BOOT,
    Message,
    attribute,
    family_of,
    number,
    text,
)

_BRPORT_HAIRPIN = 4
_BRPORT_LEARNING = 8
_BRPORT_UNICAST_FLOOD = 9
_NESTED = 0x8000
_VETH_INFO_PEER = 1

SCOPE_HOST = 254
"""The scope of addresses that no packet to another machine has as its source."""


def link(index: int = 0, *, up: bool = False) -> bytes:
    """Return the fixed part of a message about a link."""
    flag = IFF_UP if up else 0
    return LINK.pack(AF_UNSPEC, 0, index, flag, flag)


def add_bridge(name: str, address: bytes, mtu: int) -> Message:
    """Return a bridge that is up; ``address`` is its hardware address, which then never changes."""
    kind = attribute(IFLA_LINKINFO, text(IFLA_INFO_KIND, "bridge"))
    body = link(up=True) + text(IFLA_IFNAME, name) + attribute(IFLA_ADDRESS, address)
    return Message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, body + number(IFLA_MTU, mtu) + kind, name)


class Veth(Struct, frozen=True, kw_only=True):
    """A pair of connected interfaces: one here as a port of a bridge, up, and its peer in a namespace,
    which the kernel does not bring up before both exist."""

    name: str
    bridge: int
    mtu: int
    peer_name: str
    peer_namespace: int
    peer_address: bytes


def add_veth(veth: Veth) -> Message:
    peer = link() + text(IFLA_IFNAME, veth.peer_name) + number(IFLA_MTU, veth.mtu)
    peer += attribute(IFLA_ADDRESS, veth.peer_address)
    peer += number(IFLA_NET_NS_FD, veth.peer_namespace)
    data = attribute(IFLA_INFO_DATA, attribute(_VETH_INFO_PEER, peer))
    info = attribute(IFLA_LINKINFO, text(IFLA_INFO_KIND, "veth") + data)
    body = link(up=True) + text(IFLA_IFNAME, veth.name) + number(IFLA_MTU, veth.mtu)
    body += number(IFLA_MASTER, veth.bridge) + info
    return Message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, body, veth.name)


def set_port(index: int) -> Message:
    """Set the options of a pod's bridge port.

    Hairpin: a pod that reaches itself by a host port leaves by its own port again, where the kernel also
    filters bridged frames (br_netfilter). No learning and no flooding: ``add_forwarding_entry`` says where
    each address is, so a frame with a forged source cannot redirect a neighbour's traffic.
    """
    options = attribute(_BRPORT_HAIRPIN, b"\1")
    options += attribute(_BRPORT_LEARNING, b"\0") + attribute(_BRPORT_UNICAST_FLOOD, b"\0")
    body = LINK.pack(AF_BRIDGE, 0, index, 0, 0) + attribute(IFLA_PROTINFO | _NESTED, options)
    return Message(RTM_SETLINK, 0, body, f"interface {index}")


def add_forwarding_entry(index: int, address: bytes) -> Message:
    """Bind a hardware address to a bridge port for good."""
    body = NEIGHBOUR.pack(AF_BRIDGE, index, NUD_NOARP, NTF_MASTER, 0)
    body += attribute(NDA_LLADDR, address)
    return Message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, body, f"interface {index}")


def set_master(index: int, bridge: int) -> Message:
    """Make an interface a port of a bridge."""
    body = link(index) + number(IFLA_MASTER, bridge)
    return Message(RTM_SETLINK, 0, body, f"interface {index}")


def set_up(index: int) -> Message:
    return Message(RTM_NEWLINK, 0, link(index, up=True), f"interface {index}")


def delete_link(name: str) -> Message:
    return Message(RTM_DELLINK, 0, link() + text(IFLA_IFNAME, name), name)


def add_address(index: int, address: bytes, prefix: int, *, scope: int = 0) -> Message:
    """Give an interface an IPv4 or IPv6 address (packed); replaces nothing, repeats are fine.

    An IPv6 address counts at once, without a search for others that have it (duplicate address detection):
    leases and ``guard`` make sure that none has.
    """
    family = family_of(address)
    flags = IFA_F_NODAD if family == AF_INET6 else 0
    body = ADDRESS.pack(family, prefix, flags, scope, index)
    body += attribute(IFA_LOCAL, address) + attribute(IFA_ADDRESS, address)
    return Message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, body, str(ip_address(address)))


def delete_address(index: int, address: bytes, prefix: int) -> Message:
    """Take an address from an interface; the kernel refuses when it is not there."""
    family = family_of(address)
    body = ADDRESS.pack(family, prefix, 0, 0, index) + attribute(IFA_LOCAL, address)
    return Message(RTM_DELADDR, 0, body, str(ip_address(address)))


def add_route(
    index: int, gateway: bytes, destination: bytes = b"", prefix: int = 0, *, on_link: bool = False
) -> Message:
    """A route over ``gateway``, the default one unless a destination is given.

    ``on_link``: the gateway counts as reachable on the interface, with any address.
    """
    family = family_of(gateway)
    flags = RTNH_F_ONLINK if on_link else 0
    body = ROUTE.pack(family, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, 0, RTN_UNICAST, flags)
    if destination:
        body += attribute(RTA_DST, destination)
    body += attribute(RTA_GATEWAY, gateway) + number(RTA_OIF, index)
    return Message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, body, "route")


def add_neighbour(index: int, address: bytes, hardware: bytes) -> Message:
    """Bind an address (packed) on an interface to a hardware address for good, so that none is searched."""
    family = family_of(address)
    body = NEIGHBOUR.pack(family, index, NUD_PERMANENT, 0, 0)
    body += attribute(NDA_DST, address) + attribute(NDA_LLADDR, hardware)
    about = str(ip_address(address))
    return Message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, body, about)
