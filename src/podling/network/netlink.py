"""Just enough rtnetlink to give a pod its network: links, addresses, routes.

Written out because the usual library takes longer to import than a pod takes to start. A message is a
header, a fixed part and attributes; ``Netlink.request`` sends several in one datagram, which the kernel
carries out in order, and raises for the first that it refuses. Source: rtnetlink(7), linux/if_link.h.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterable

from msgspec import Struct

RTM_NEWLINK = 16
RTM_DELLINK = 17
RTM_GETLINK = 18
RTM_SETLINK = 19
RTM_NEWADDR = 20
RTM_DELADDR = 21
RTM_NEWROUTE = 24
RTM_NEWNEIGH = 28

_NLM_F_REQUEST = 0x1
_NLM_F_ACK = 0x4
_NLM_F_REPLACE = 0x100
_NLM_F_EXCL = 0x200
_NLM_F_CREATE = 0x400
_NLM_F_DUMP = 0x300
_NLMSG_ERROR = 2
_NLMSG_DONE = 3

_IFF_UP = 0x1
_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_SIOCGIFINDEX = 0x8933

_IFLA_ADDRESS = 1
_IFLA_IFNAME = 3
_IFLA_MTU = 4
_IFLA_MASTER = 10
_IFLA_PROTINFO = 12
_NESTED = 0x8000
_BRPORT_HAIRPIN = 4
_BRPORT_LEARNING = 8
_BRPORT_UNICAST_FLOOD = 9
_IFLA_LINKINFO = 18
_IFLA_NET_NS_FD = 28
_IFLA_INFO_KIND = 1
_IFLA_INFO_DATA = 2
_VETH_INFO_PEER = 1

_NDA_DST = 1
_NDA_LLADDR = 2
_NUD_PERMANENT = 0x80
_NUD_NOARP = 0x40
_NTF_MASTER = 0x04

_IFA_F_NODAD = 0x02
SCOPE_HOST = 254
"""The scope of addresses that no packet to another machine has as its source."""

_IFA_ADDRESS = 1
_IFA_LOCAL = 2

_RTA_DST = 1
_RTA_OIF = 4
_RTA_GATEWAY = 5
_RTNH_F_ONLINK = 4
_RT_TABLE_MAIN = 254
_RTPROT_BOOT = 3
_RTN_UNICAST = 1

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBI")
_ROUTE = struct.Struct("=BBBBBBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")


class Message(Struct, frozen=True):
    """One request, ready but for its sequence number."""

    kind: int
    flags: int
    body: bytes
    about: str


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def _text(kind: int, text: str) -> bytes:
    return attribute(kind, text.encode() + b"\0")


def _number(kind: int, number: int) -> bytes:
    return attribute(kind, struct.pack("=I", number))


def _link(index: int = 0, *, up: bool = False) -> bytes:
    flag = _IFF_UP if up else 0
    return _LINK.pack(socket.AF_UNSPEC, 0, index, flag, flag)


def add_bridge(name: str, address: bytes, mtu: int) -> Message:
    """Return a bridge that is up; ``address`` is its hardware address, which then never changes."""
    kind = attribute(_IFLA_LINKINFO, _text(_IFLA_INFO_KIND, "bridge"))
    body = _link(up=True) + _text(_IFLA_IFNAME, name) + attribute(_IFLA_ADDRESS, address)
    return Message(RTM_NEWLINK, _NLM_F_CREATE | _NLM_F_EXCL, body + _number(_IFLA_MTU, mtu) + kind, name)


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
    peer = _link() + _text(_IFLA_IFNAME, veth.peer_name) + _number(_IFLA_MTU, veth.mtu)
    peer += attribute(_IFLA_ADDRESS, veth.peer_address)
    peer += _number(_IFLA_NET_NS_FD, veth.peer_namespace)
    data = attribute(_IFLA_INFO_DATA, attribute(_VETH_INFO_PEER, peer))
    info = attribute(_IFLA_LINKINFO, _text(_IFLA_INFO_KIND, "veth") + data)
    body = _link(up=True) + _text(_IFLA_IFNAME, veth.name) + _number(_IFLA_MTU, veth.mtu)
    body += _number(_IFLA_MASTER, veth.bridge) + info
    return Message(RTM_NEWLINK, _NLM_F_CREATE | _NLM_F_EXCL, body, veth.name)


def set_port(index: int) -> Message:
    """Set the options of a pod's bridge port.

    Hairpin: a pod that reaches itself by a host port leaves by its own port again, where the kernel also
    filters bridged frames (br_netfilter). No learning and no flooding: ``add_forwarding_entry`` says where
    each address is, so a frame with a forged source cannot redirect a neighbour's traffic.
    """
    options = attribute(_BRPORT_HAIRPIN, b"\1")
    options += attribute(_BRPORT_LEARNING, b"\0") + attribute(_BRPORT_UNICAST_FLOOD, b"\0")
    body = _LINK.pack(socket.AF_BRIDGE, 0, index, 0, 0) + attribute(_IFLA_PROTINFO | _NESTED, options)
    return Message(RTM_SETLINK, 0, body, f"interface {index}")


def add_forwarding_entry(index: int, address: bytes) -> Message:
    """Bind a hardware address to a bridge port for good."""
    body = _NEIGHBOUR.pack(socket.AF_BRIDGE, index, _NUD_NOARP, _NTF_MASTER, 0)
    body += attribute(_NDA_LLADDR, address)
    return Message(RTM_NEWNEIGH, _NLM_F_CREATE | _NLM_F_REPLACE, body, f"interface {index}")


def set_master(index: int, bridge: int) -> Message:
    """Make an interface a port of a bridge."""
    body = _link(index) + _number(_IFLA_MASTER, bridge)
    return Message(RTM_SETLINK, 0, body, f"interface {index}")


def set_up(index: int) -> Message:
    return Message(RTM_NEWLINK, 0, _link(index, up=True), f"interface {index}")


def delete_link(name: str) -> Message:
    return Message(RTM_DELLINK, 0, _link() + _text(_IFLA_IFNAME, name), name)


def add_address(index: int, address: bytes, prefix: int, *, scope: int = 0) -> Message:
    """Give an interface an IPv4 or IPv6 address (packed); replaces nothing, repeats are fine.

    An IPv6 address counts at once, without a search for others that have it (duplicate address detection):
    leases and ``guard`` make sure that none has.
    """
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    flags = _IFA_F_NODAD if family == socket.AF_INET6 else 0
    body = _ADDRESS.pack(family, prefix, flags, scope, index)
    body += attribute(_IFA_LOCAL, address) + attribute(_IFA_ADDRESS, address)
    return Message(RTM_NEWADDR, _NLM_F_CREATE | _NLM_F_REPLACE, body, socket.inet_ntop(family, address))


def delete_address(index: int, address: bytes, prefix: int) -> Message:
    """Take an address from an interface; the kernel refuses when it is not there."""
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    body = _ADDRESS.pack(family, prefix, 0, 0, index) + attribute(_IFA_LOCAL, address)
    return Message(RTM_DELADDR, 0, body, socket.inet_ntop(family, address))


def add_route(
    index: int, gateway: bytes, destination: bytes = b"", prefix: int = 0, *, on_link: bool = False
) -> Message:
    """A route over ``gateway``, the default one unless a destination is given.

    ``on_link``: the gateway counts as reachable on the interface, with any address.
    """
    family = socket.AF_INET if len(gateway) == 4 else socket.AF_INET6
    flags = _RTNH_F_ONLINK if on_link else 0
    body = _ROUTE.pack(family, prefix, 0, 0, _RT_TABLE_MAIN, _RTPROT_BOOT, 0, _RTN_UNICAST, flags)
    if destination:
        body += attribute(_RTA_DST, destination)
    body += attribute(_RTA_GATEWAY, gateway) + _number(_RTA_OIF, index)
    return Message(RTM_NEWROUTE, _NLM_F_CREATE | _NLM_F_REPLACE, body, "route")


def add_neighbour(index: int, address: bytes, hardware: bytes) -> Message:
    """Bind an address (packed) on an interface to a hardware address for good, so that none is searched."""
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    body = _NEIGHBOUR.pack(family, index, _NUD_PERMANENT, 0, 0)
    body += attribute(_NDA_DST, address) + attribute(_NDA_LLADDR, hardware)
    about = socket.inet_ntop(family, address)
    return Message(RTM_NEWNEIGH, _NLM_F_CREATE | _NLM_F_REPLACE, body, about)


class Netlink:
    """A socket to the kernel's routing tables, in the network namespace of the thread that opens it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._socket.settimeout(10.0)
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def request(self, messages: Iterable[Message]) -> None:
        """Carry out ``messages`` in order. Raises ``OSError`` for the first that the kernel refuses."""
        about: dict[int, str] = {}
        data = b""
        for message in messages:
            self._sequence += 1
            about[self._sequence] = message.about
            flags = _NLM_F_REQUEST | _NLM_F_ACK | message.flags
            length = _HEADER.size + len(message.body)
            header = _HEADER.pack(length, message.kind, flags, self._sequence, 0)
            data += header + message.body + bytes(-length % 4)
        self._socket.send(data)
        refused: OSError | None = None
        while about:
            for sequence, code in _answers(self._socket.recv(65536)):
                name = about.pop(sequence, "")
                if code and refused is None:
                    refused = OSError(code, os.strerror(code), name)
        if refused is not None:
            raise refused

    def dump(self, kind: int, body: bytes, about: str) -> list[bytes]:
        """Return the payloads of the kernel's answers to a request for all objects. Raises ``OSError``."""
        self._sequence += 1
        flags = _NLM_F_REQUEST | _NLM_F_DUMP
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, self._sequence, 0) + body)
        found: list[bytes] = []
        while True:
            for answer, payload in messages(self._socket.recv(1 << 18)):
                if answer == _NLMSG_DONE:
                    return found
                if answer == _NLMSG_ERROR:
                    code = -struct.unpack_from("=i", payload)[0]
                    raise OSError(code, os.strerror(code), about)
                found.append(payload)

    def ports(self, bridge: int) -> set[str]:
        """Return the names of a bridge's ports. Raises ``OSError``."""
        body = _link() + _number(_IFLA_MASTER, bridge)
        names: set[str] = set()
        for payload in self.dump(RTM_GETLINK, body, f"interface {bridge}"):
            found = dict(attributes(payload[_LINK.size :]))
            if found.get(_IFLA_MASTER) == struct.pack("=I", bridge):
                names.add(found[_IFLA_IFNAME].rstrip(b"\0").decode())
        return names


def messages(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield kind and payload of every message in a datagram."""
    position = 0
    while position + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, position)
        yield kind, data[position + _HEADER.size : position + length]
        position += max((length + 3) & ~3, _HEADER.size)


def attributes(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield kind and payload of every attribute in ``data``."""
    position = 0
    while position + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        yield kind, data[position + 4 : position + length]
        position += max((length + 3) & ~3, 4)


def _answers(data: bytes) -> Iterable[tuple[int, int]]:
    """(sequence, error number) of every acknowledgement in a datagram; zero is success."""
    position = 0
    while position + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, position)
        if kind == _NLMSG_ERROR:
            yield sequence, -struct.unpack_from("=i", data, position + _HEADER.size)[0]
        position += max((length + 3) & ~3, _HEADER.size)


def index_of(name: str) -> int:
    """Return an interface's index in the calling thread's network namespace, 0 if there is none.

    Raises ``OSError`` when it is unknown, as without a free descriptor.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFINDEX, struct.pack("16sI12x", name.encode(), 0))
        except OSError as error:
            if error.errno == errno.ENODEV:
                return 0
            raise
    return int(struct.unpack_from("=I", answer, 16)[0])


def is_up(name: str) -> bool:
    """Return whether an interface is administratively up. Raises ``OSError`` if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFFLAGS, struct.pack("16sH14x", name.encode(), 0))
    return bool(struct.unpack_from("=H", answer, 16)[0] & _IFF_UP)


def mtu_of(name: str) -> int:
    """Return the size of an interface's largest packet, in bytes. Raises ``OSError`` if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFMTU, struct.pack("16sI12x", name.encode(), 0))
    return int(struct.unpack_from("=I", answer, 16)[0])


def has_address(address: bytes) -> bool:
    """Return whether an IPv4 or IPv6 address (packed) belongs to this machine."""
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.bind((socket.inet_ntop(family, address), 0))
        except OSError:
            return False
    return True
