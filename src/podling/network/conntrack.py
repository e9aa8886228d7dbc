"""Just enough ctnetlink to find and delete the connections that the kernel tracks. Blocking.

UDP has no end of a connection: while a client goes on sending, its packets follow the translation of the
first one. So an entry that leads to an endpoint which is gone has to be deleted. And rules let packets of
known connections pass, so those of an address are deleted before the address is leased to another pod.

Source: linux/netfilter/nfnetlink_conntrack.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

from msgspec import Struct

from podling.network.netlink.wire import attributes

UDP = 17

_NETLINK_NETFILTER = 12
_SUBSYSTEM = 1
_GET, _DELETE = 1, 2
_F_REQUEST, _F_ACK, _F_DUMP = 0x1, 0x4, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_NETFILTER_HEADER = 4
_NESTED = 0x8000
_KIND = 0x3FFF

_ORIGINAL, _REPLY, _ID, _ZONE, _FILTER = 1, 2, 12, 18, 25
_TUPLE_ADDRESSES, _TUPLE_PROTOCOL = 1, 2
_SOURCES, _DESTINATIONS = (1, 3), (2, 4)
"""The attributes of addresses, of IPv4 and IPv6."""
_PROTOCOL, _SOURCE_PORT, _DESTINATION_PORT = 1, 2, 3
_FILTER_ORIGINAL, _FILTER_REPLY = 1, 2
_FILTER_BY_SOURCE, _FILTER_BY_DESTINATION, _FILTER_BY_PROTOCOL = 0x1, 0x2, 0x8
_FAMILIES = {"ip": socket.AF_INET, "ip6": socket.AF_INET6}
_TIMEOUT_SECONDS = 10.0


class Flow(Struct, frozen=True):
    """One tracked connection."""

    destination: bytes
    """The address and port to which the first packet was sent."""
    answers_from: bytes
    """The address and port that answers: the endpoint, where the connection is translated."""
    name: bytes
    """The attributes by which the kernel finds the entry."""


class Conntrack:
    """A socket to the connections of the network namespace of the thread that makes it."""

    def __init__(self) -> None:
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER
        )
        self._socket.bind((0, 0))
        self._socket.settimeout(_TIMEOUT_SECONDS)
        self._sequence = 0

    def __enter__(self) -> Conntrack:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def udp_flows(self, family: str) -> list[Flow]:
        """Return every tracked connection of UDP. Raises ``OSError``."""
        try:
            return list(self._dump(family, _udp_only()))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
        return list(self._dump(family, b""))  # a kernel before 5.8

    def delete(self, family: str, flow: Flow) -> None:
        """Delete a connection, if it exists: its next packet begins a new one. Raises ``OSError``."""
        self._delete(family, flow.name)

    def forget(self, family: str, address: bytes) -> None:
        """Delete every connection from or to an address, before or after translation. Raises ``OSError``.

        The kernel looks for IPv4 addresses itself. Its comparison of IPv6 addresses is inverted, and Linux
        before 6.8 refuses to delete by address: then the whole table is read.
        """
        if family == "ip":
            try:
                for wanted in _of_address(address):
                    self._delete(family, wanted)
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        self.forget_one_by_one(family, address)

    def forget_one_by_one(self, family: str, address: bytes) -> None:
        """Do the same by reading the whole table. Raises ``OSError``."""
        entries = list(self._entries(family, b""))
        for found in entries:
            if address in _addresses(found):
                self._delete(family, _name(found))

    def _delete(self, family: str, body: bytes) -> None:
        self._send(_DELETE, _F_ACK, family, body)
        for kind, payload in self._answers():
            if kind == _NLMSG_ERROR:
                code = -struct.unpack_from("=i", payload)[0]
                if code not in (0, errno.ENOENT):
                    raise OSError(code, os.strerror(code))
                return

    def _dump(self, family: str, wanted: bytes) -> Iterator[Flow]:
        for found in self._entries(family, wanted):
            flow = _udp_flow(found)
            if flow is not None:
                yield flow

    def _entries(self, family: str, wanted: bytes) -> Iterator[dict[int, bytes]]:
        self._send(_GET, _F_DUMP, family, wanted)
        for kind, payload in self._answers():
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                code = -struct.unpack_from("=i", payload)[0]
                raise OSError(code, os.strerror(code))
            yield _parsed(payload[_NETFILTER_HEADER:])

    def _send(self, kind: int, flags: int, family: str, body: bytes) -> None:
        self._sequence += 1
        payload = struct.pack("=BBH", _FAMILIES[family], 0, 0) + body
        length = _HEADER.size + len(payload)
        header = _HEADER.pack(length, _SUBSYSTEM << 8 | kind, _F_REQUEST | flags, self._sequence, 0)
        self._socket.send(header + payload)

    def _answers(self) -> Iterator[tuple[int, bytes]]:
        while True:
            data = self._socket.recv(1 << 18)
            position = 0
            while position + _HEADER.size <= len(data):
                length, kind, _, sequence, _ = _HEADER.unpack_from(data, position)
                if sequence == self._sequence:
                    yield kind, data[position + _HEADER.size : position + length]
                position += max((length + 3) & ~3, _HEADER.size)


def _udp_only() -> bytes:
    protocol = _nested(_TUPLE_PROTOCOL, _attribute(_PROTOCOL, bytes((UDP,))))
    original = struct.pack("=I", _FILTER_BY_PROTOCOL)
    flags = _attribute(_FILTER_ORIGINAL, original) + _attribute(_FILTER_REPLY, bytes(4))
    return _nested(_ORIGINAL, protocol) + _nested(_FILTER, flags)


def _of_address(address: bytes) -> Iterator[bytes]:
    """Yield what matches the connections in which an IPv4 address has one of its four places."""
    for direction, flags in ((_ORIGINAL, _FILTER_ORIGINAL), (_REPLY, _FILTER_REPLY)):
        for kinds, flag in ((_SOURCES, _FILTER_BY_SOURCE), (_DESTINATIONS, _FILTER_BY_DESTINATION)):
            place = _nested(_TUPLE_ADDRESSES, _attribute(kinds[0], address))
            chosen = _attribute(flags, struct.pack("=I", flag))
            yield _nested(direction, place) + _nested(_FILTER, chosen)


def _addresses(found: dict[int, bytes]) -> set[bytes]:
    places = [_parsed(_parsed(found[each])[_TUPLE_ADDRESSES]) for each in (_ORIGINAL, _REPLY)]
    return {address for place in places for address in place.values()}


def _udp_flow(found: dict[int, bytes]) -> Flow | None:
    original, reply = _parsed(found[_ORIGINAL]), _parsed(found[_REPLY])
    protocol = _parsed(original[_TUPLE_PROTOCOL])
    if protocol[_PROTOCOL] != bytes((UDP,)):
        return None
    return Flow(
        destination=_end(original, _DESTINATIONS, _DESTINATION_PORT),
        answers_from=_end(reply, _SOURCES, _SOURCE_PORT),
        name=_name(found),
    )


def _name(found: dict[int, bytes]) -> bytes:
    name = _nested(_ORIGINAL, found[_ORIGINAL])
    for kind in (_ID, _ZONE):
        if kind in found:
            name += _attribute(kind, found[kind])
    return name


def _end(found: dict[int, bytes], kinds: tuple[int, int], port: int) -> bytes:
    addresses = _parsed(found[_TUPLE_ADDRESSES])
    address = next(addresses[kind] for kind in kinds if kind in addresses)
    return address + _parsed(found[_TUPLE_PROTOCOL])[port]


def _parsed(data: bytes) -> dict[int, bytes]:
    return {kind & _KIND: payload for kind, payload in attributes(data)}


def _attribute(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def _nested(kind: int, payload: bytes) -> bytes:
    return _attribute(kind | _NESTED, payload)
