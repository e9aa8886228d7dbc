"""The format of netlink messages: header, attributes, and the numbers that several modules use. Pure.

Source: netlink(7), rtnetlink(7).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from msgspec import Struct

AF_UNSPEC = 0
AF_INET = 2
AF_BRIDGE = 7
AF_INET6 = 10

RTM_NEWLINK = 16
RTM_DELLINK = 17
RTM_GETLINK = 18
RTM_SETLINK = 19
RTM_NEWADDR = 20
RTM_DELADDR = 21
RTM_GETADDR = 22
RTM_NEWROUTE = 24
RTM_DELROUTE = 25
RTM_GETROUTE = 26
RTM_NEWNEIGH = 28
RTM_DELNEIGH = 29
RTM_GETNEIGH = 30

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_REPLACE = 0x100
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
NLM_F_DUMP = 0x300
NLMSG_ERROR = 2
NLMSG_DONE = 3

IFF_UP = 0x1

IFLA_ADDRESS = 1
IFLA_IFNAME = 3
IFLA_MTU = 4
IFLA_MASTER = 10
IFLA_PROTINFO = 12
IFLA_LINKINFO = 18
IFLA_NET_NS_FD = 28
IFLA_INFO_KIND = 1
IFLA_INFO_DATA = 2

IFA_ADDRESS = 1
IFA_LOCAL = 2
IFA_F_NODAD = 0x02
"""The address counts at once, without a search for others that have it (duplicate address detection)."""

NDA_DST = 1
NDA_LLADDR = 2
NUD_PERMANENT = 0x80
NUD_NOARP = 0x40
NTF_SELF = 0x02
NTF_MASTER = 0x04

RTA_DST = 1
RTA_OIF = 4
RTA_GATEWAY = 5
RTA_PRIORITY = 6
RTA_PREFSRC = 7
RTNH_F_ONLINK = 4
RT_TABLE_MAIN = 254
RTPROT_BOOT = 3
RTN_UNICAST = 1

HEADER = struct.Struct("=IHHII")
LINK = struct.Struct("=BxHiII")
ADDRESS = struct.Struct("=BBBBI")
ROUTE = struct.Struct("=BBBBBBBBI")
NEIGHBOUR = struct.Struct("=BxxxiHBB")


class Message(Struct, frozen=True):
    """One request, ready but for its sequence number."""

    kind: int
    flags: int
    body: bytes
    about: str


def family_of(address: bytes) -> int:
    """Return the family of a packed IPv4 or IPv6 address."""
    return AF_INET if len(address) == 4 else AF_INET6


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def text(kind: int, value: str) -> bytes:
    """Return an attribute of text, with the zero that ends it."""
    return attribute(kind, value.encode() + b"\0")


def number(kind: int, value: int) -> bytes:
    """Return an attribute of 32 bits."""
    return attribute(kind, struct.pack("=I", value))


def messages(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield kind and payload of every message in a datagram."""
    position = 0
    while position + HEADER.size <= len(data):
        length, kind, *_ = HEADER.unpack_from(data, position)
        yield kind, data[position + HEADER.size : position + length]
        position += max((length + 3) & ~3, HEADER.size)


def attributes(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield kind and payload of every attribute in ``data``."""
    position = 0
    while position + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        yield kind, data[position + 4 : position + length]
        position += max((length + 3) & ~3, 4)


def acknowledgements(data: bytes) -> Iterable[tuple[int, int]]:
    """Yield sequence and error number of every acknowledgement in a datagram; zero is success."""
    position = 0
    while position + HEADER.size <= len(data):
        length, kind, _, sequence, _ = HEADER.unpack_from(data, position)
        if kind == NLMSG_ERROR:
            yield sequence, -struct.unpack_from("=i", data, position + HEADER.size)[0]
        position += max((length + 3) & ~3, HEADER.size)
