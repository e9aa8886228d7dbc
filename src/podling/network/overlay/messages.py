"""The netlink messages of the overlay: tunnel device, forwarding entries, neighbours and routes. Pure.

Sources: rtnetlink(7), linux/if_link.h (``IFLA_VXLAN_*``), linux/neighbour.h, linux/rtnetlink.h.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Network, IPv6Network, ip_address

from msgspec import Struct

from podling.network.netlink.wire import (
    ADDRESS,
    AF_BRIDGE,
    AF_INET,
    AF_INET6,
    IFA_ADDRESS,
    IFA_F_NODAD,
    IFA_LOCAL,
    IFF_UP,
    IFLA_ADDRESS,
    IFLA_IFNAME,
    IFLA_INFO_DATA,
    IFLA_INFO_KIND,
    IFLA_LINKINFO,
    IFLA_MTU,
    LINK,
    NDA_DST,
    NDA_LLADDR,
    NEIGHBOUR,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    NTF_SELF,
    NUD_PERMANENT,
    ROUTE,
    RT_TABLE_MAIN,
    RTA_DST,
    RTA_GATEWAY,
    RTA_OIF,
    RTA_PREFSRC,
    RTA_PRIORITY,
    RTM_DELADDR,
    RTM_DELNEIGH,
    RTM_DELROUTE,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWNEIGH,
    RTM_NEWROUTE,
    RTN_UNICAST,
    RTNH_F_ONLINK,
    Message,
    attribute,
    attributes,
)
from podling.network.overlay.overlay_plan import (
    VXLAN_ID,
    VXLAN_PORT,
    Address,
    ForwardingEntry,
    Neighbour,
    Route,
    Tunnel,
)

_FAMILY = {4: AF_INET, 6: AF_INET6}
_VERSION = {AF_INET: 4, AF_INET6: 6}

_VXLAN_ID, _VXLAN_LOCAL, _VXLAN_LEARNING, _VXLAN_PORT, _VXLAN_LOCAL6 = 1, 4, 7, 15, 17

PROTOCOL = 88
"""The routing protocol number of routes made here: the kernel keeps it, and ``ip route`` shows it."""


class Device(Struct, frozen=True):
    """A tunnel device as the kernel has it."""

    index: int
    tunnel: Tunnel
    mtu: int
    is_up: bool
    is_right: bool
    """It is a VXLAN device with our number and port that learns nothing."""

    def leads_like(self, wanted: Tunnel) -> bool:
        """Return whether the device need not be made anew."""
        own = self.tunnel
        return self.is_right and (own.local, own.hardware) == (wanted.local, wanted.hardware)


class Owner(Struct, frozen=True):
    """The mark of a cluster's routes: their metric. Other routes are never changed."""

    metric: int


def add_tunnel(name: str, tunnel: Tunnel, mtu: int) -> Message:
    """Return a VXLAN device that is up. It learns no addresses from packets: peers cannot redirect others."""
    local = _VXLAN_LOCAL if tunnel.local.version == 4 else _VXLAN_LOCAL6
    data = attribute(_VXLAN_ID, struct.pack("=I", VXLAN_ID))
    data += attribute(local, tunnel.local.packed)
    data += attribute(_VXLAN_LEARNING, b"\0") + attribute(_VXLAN_PORT, struct.pack(">H", VXLAN_PORT))
    info = attribute(IFLA_INFO_KIND, b"vxlan\0") + attribute(IFLA_INFO_DATA, data)
    body = LINK.pack(0, 0, 0, IFF_UP, IFF_UP) + attribute(IFLA_IFNAME, name.encode() + b"\0")
    body += attribute(IFLA_ADDRESS, tunnel.hardware) + attribute(IFLA_MTU, struct.pack("=I", mtu))
    return Message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, body + attribute(IFLA_LINKINFO, info), name)


def set_mtu(index: int, mtu: int) -> Message:
    body = LINK.pack(0, 0, index, 0, 0) + attribute(IFLA_MTU, struct.pack("=I", mtu))
    return Message(RTM_NEWLINK, 0, body, f"interface {index}")


def device_of(payload: bytes, name: str) -> Device | None:
    """Return the device in an answer to ``RTM_GETLINK`` if it has this name."""
    _, _, index, flags, _ = LINK.unpack_from(payload)
    found = dict(attributes(payload[LINK.size :]))
    if found.get(IFLA_IFNAME, b"").rstrip(b"\0").decode() != name:
        return None
    info = dict(attributes(found.get(IFLA_LINKINFO, b"")))
    data = dict(attributes(info.get(IFLA_INFO_DATA, b""))) if info.get(IFLA_INFO_KIND) == b"vxlan\0" else {}
    local = data.get(_VXLAN_LOCAL) or data.get(_VXLAN_LOCAL6) or bytes(4)
    is_right = (
        data.get(_VXLAN_ID) == struct.pack("=I", VXLAN_ID)
        and data.get(_VXLAN_PORT) == struct.pack(">H", VXLAN_PORT)
        and data.get(_VXLAN_LEARNING) == b"\0"
    )
    mtu = int(struct.unpack("=I", found[IFLA_MTU])[0])
    tunnel = Tunnel(ip_address(local), found.get(IFLA_ADDRESS, b""))
    return Device(index, tunnel, mtu, bool(flags & IFF_UP), is_right)


def own_address(index: int, address: Address, *, delete: bool = False) -> Message:
    """Give an interface an address of its own, or take it away."""
    flags = IFA_F_NODAD if address.version == 6 else 0
    body = ADDRESS.pack(_FAMILY[address.version], address.max_prefixlen, flags, 0, index)
    body += attribute(IFA_LOCAL, address.packed) + attribute(IFA_ADDRESS, address.packed)
    if delete:
        return Message(RTM_DELADDR, 0, body, str(address))
    return Message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, body, str(address))


def own_addresses_request(version: int) -> bytes:
    """Return the body of a request for the addresses of all interfaces."""
    return ADDRESS.pack(_FAMILY[version], 0, 0, 0, 0)


def own_address_of(payload: bytes, index: int) -> Address | None:
    """Return the address in an answer to ``RTM_GETADDR`` if the interface has it; link-local ones are left
    out, because the kernel makes them."""
    _, _, _, _, interface = ADDRESS.unpack_from(payload)
    found = dict(attributes(payload[ADDRESS.size :]))
    packed = found.get(IFA_LOCAL) or found.get(IFA_ADDRESS)
    if interface != index or packed is None:
        return None
    address = ip_address(packed)
    return None if address.is_link_local else address


def neighbour(index: int, entry: Neighbour | ForwardingEntry, *, delete: bool = False) -> Message:
    """Add, replace or delete an entry of the interface ``index``; it never expires."""
    if isinstance(entry, Neighbour):
        family, flags, address = _FAMILY[entry.address.version], 0, entry.address
    else:
        family, flags, address = AF_BRIDGE, NTF_SELF, entry.machine
    body = NEIGHBOUR.pack(family, index, NUD_PERMANENT, flags, 0)
    body += attribute(NDA_DST, address.packed) + attribute(NDA_LLADDR, entry.hardware)
    if delete:
        return Message(RTM_DELNEIGH, 0, body, str(address))
    return Message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, body, str(address))


def neighbours_request(version: int, index: int) -> bytes:
    return NEIGHBOUR.pack(_FAMILY[version], index, 0, 0, 0)


def forwarding_request(index: int) -> bytes:
    """Return the body of a request for the forwarding entries of an interface."""
    return LINK.pack(AF_BRIDGE, 0, index, 0, 0)


def neighbour_of(payload: bytes, index: int) -> Neighbour | ForwardingEntry | None:
    """Return the lasting entry in an answer to ``RTM_GETNEIGH`` if the interface has it."""
    family, interface, state, _, _ = NEIGHBOUR.unpack_from(payload)
    found = dict(attributes(payload[NEIGHBOUR.size :]))
    if interface != index or not state & NUD_PERMANENT or NDA_DST not in found or NDA_LLADDR not in found:
        return None
    address = ip_address(found[NDA_DST])
    if family == AF_BRIDGE:
        return ForwardingEntry(found[NDA_LLADDR], address)
    return Neighbour(address, found[NDA_LLADDR])


def route(index: int, wanted: Route, owner: Owner, *, on_link: bool, delete: bool = False) -> Message:
    """Add or delete a route of ours through the interface ``index``.

    ``on_link``: the gateway counts as reachable there, with any address.
    """
    version = wanted.block.version
    flags = RTNH_F_ONLINK if on_link else 0
    body = ROUTE.pack(
        _FAMILY[version], wanted.block.prefixlen, 0, 0, RT_TABLE_MAIN, PROTOCOL, 0, RTN_UNICAST, flags
    )
    body += attribute(RTA_DST, wanted.block.network_address.packed)
    body += attribute(RTA_PRIORITY, struct.pack("=I", owner.metric))
    if delete:
        return Message(RTM_DELROUTE, 0, body, str(wanted.block))
    body += attribute(RTA_GATEWAY, wanted.gateway.packed)
    if wanted.source is not None:
        body += attribute(RTA_PREFSRC, wanted.source.packed)
    if index:
        body += attribute(RTA_OIF, struct.pack("=I", index))
    return Message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, body, str(wanted.block))


def routes_request(version: int) -> bytes:
    return ROUTE.pack(_FAMILY[version], 0, 0, 0, 0, 0, 0, 0, 0)


class FoundRoute(Struct, frozen=True):
    """A route to a network in the kernel's main table."""

    route: Route
    index: int
    is_ours: bool


def route_of(payload: bytes, owner: Owner) -> FoundRoute | None:
    """Return the route to a network in an answer to ``RTM_GETROUTE``; None for others."""
    family, length, _, _, table, protocol, _, kind, _ = ROUTE.unpack_from(payload)
    found = dict(attributes(payload[ROUTE.size :]))
    if table != RT_TABLE_MAIN or kind != RTN_UNICAST or family not in _VERSION or RTA_DST not in found:
        return None
    network = IPv4Network if _VERSION[family] == 4 else IPv6Network
    block = network((found[RTA_DST], length))
    gateway: Address = ip_address(found[RTA_GATEWAY]) if RTA_GATEWAY in found else block.network_address
    source = ip_address(found[RTA_PREFSRC]) if RTA_PREFSRC in found else None
    metric = struct.unpack("=I", found.get(RTA_PRIORITY, bytes(4)))[0]
    index = struct.unpack("=I", found.get(RTA_OIF, bytes(4)))[0]
    ours = protocol == PROTOCOL and metric == owner.metric
    return FoundRoute(Route(block, gateway, source), index, ours)
