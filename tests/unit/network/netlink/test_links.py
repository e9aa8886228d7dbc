"""Messages to the kernel, byte by byte where it matters."""

from __future__ import annotations

import socket
import struct

from podling.network.netlink import wire
from podling.network.netlink.interfaces import index_of
from podling.network.netlink.links import (
    Veth,
    add_address,
    add_forwarding_entry,
    add_neighbour,
    add_route,
    add_veth,
    set_port,
    set_up,
)
from podling.network.netlink.wire import acknowledgements, attribute, messages


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes in ``data``, by kind."""
    found, position = {}, 0
    while position < len(data):
        length, kind = struct.unpack_from("=HH", data, position)
        found[kind] = data[position + 4 : position + length]
        position += (length + 3) & ~3
    return found


def test_attributes_are_padded_but_not_in_their_length() -> None:
    assert attribute(3, b"lo\0") == b"\x07\x00\x03\x00lo\x00\x00"
    assert attribute(4, b"\1\2\3\4") == b"\x08\x00\x04\x00\x01\x02\x03\x04"


def test_a_cable_has_its_other_end_in_the_pod() -> None:
    veth = Veth(
        name="pv1", bridge=7, mtu=1400, peer_name="eth0", peer_namespace=9, peer_address=b"\x0a\x58\1\2\3\4"
    )
    message = add_veth(veth)
    outer = attributes(message.body[16:])
    assert outer[3] == b"pv1\0"
    assert struct.unpack("=I", outer[10]) == (7,)
    info = attributes(outer[18])
    assert info[1] == b"veth\0"
    peer = attributes(attributes(info[2])[1][16:])
    assert peer[3] == b"eth0\0"
    assert peer[1] == b"\x0a\x58\1\2\3\4"
    assert struct.unpack("=I", peer[28]) == (9,)
    (flags,) = struct.unpack_from("=I", attributes(info[2])[1], 8)
    assert flags == 0, "the kernel refuses a peer that comes up before its other end is there"


def test_an_address_and_a_route() -> None:
    packed = socket.inet_aton("10.88.0.2")
    address = add_address(2, packed, 32)
    assert address.body[:8] == bytes((socket.AF_INET, 32, 0, 0)) + struct.pack("=I", 2)
    assert attributes(address.body[8:]) == {1: packed, 2: packed}
    route = add_route(2, packed, on_link=True)
    assert route.body[0] == socket.AF_INET
    assert struct.unpack_from("=I", route.body, 8) == (4,)
    assert attributes(route.body[12:]) == {5: packed, 4: struct.pack("=I", 2)}


def test_ipv6_address_counts_at_once() -> None:
    packed = socket.inet_pton(socket.AF_INET6, "fd00::2")
    message = add_address(2, packed, 128)
    no_search = 0x02
    assert message.body[:8] == bytes((socket.AF_INET6, 128, no_search, 0)) + struct.pack("=I", 2)
    assert attributes(message.body[8:]) == {1: packed, 2: packed}


def test_neighbour_is_bound_for_good() -> None:
    packed = socket.inet_pton(socket.AF_INET6, "fd00::2")
    message = add_neighbour(7, packed, b"\x0a\x58\1\2\3\4")
    family, index, state, flags, _ = struct.unpack_from("=BxxxiHBB", message.body)
    assert (family, index, state, flags) == (socket.AF_INET6, 7, 0x80, 0)
    assert attributes(message.body[12:]) == {1: packed, 2: b"\x0a\x58\1\2\3\4"}


def test_the_kernels_answers_are_read() -> None:
    def answer(sequence: int, error: int) -> bytes:
        body = struct.pack("=i", -error) + bytes(16)
        return struct.pack("=IHHII", 16 + len(body), 2, 0, sequence, 0) + body

    assert list(acknowledgements(answer(1, 0) + answer(2, 17))) == [(1, 0), (2, 17)]


def test_interfaces_are_found_by_name() -> None:
    assert index_of("lo") == 1
    assert index_of("no-such-link") == 0
    assert set_up(1).about == "interface 1"


def test_bridge_port_does_not_learn_and_does_not_flood() -> None:
    message = set_port(7)
    options = attributes(attributes(message.body[16:])[12 | 0x8000])
    assert options == {4: b"\1", 8: b"\0", 9: b"\0"}


def test_hardware_address_is_bound_to_its_port() -> None:
    message = add_forwarding_entry(7, b"\x0a\x58\1\2\3\4")
    family, index, state, flags, _ = struct.unpack_from("=BxxxiHBB", message.body)
    assert (family, index, state, flags) == (socket.AF_BRIDGE, 7, 0x40, 0x04)
    assert attributes(message.body[12:]) == {2: b"\x0a\x58\1\2\3\4"}


def test_datagram_is_cut_into_messages_and_attributes() -> None:
    def message(kind: int, payload: bytes) -> bytes:
        return struct.pack("=IHHII", 16 + len(payload), kind, 0, 1, 0) + payload + bytes(-len(payload) % 4)

    cut = list(messages(message(16, attribute(3, b"lo\0")) + message(3, b"")))
    assert cut == [(16, attribute(3, b"lo\0")[:8]), (3, b"")]
    assert list(wire.attributes(cut[0][1])) == [(3, b"lo\0")]
    assert list(messages(b"\0" * 40)), "a length of zero does not loop for ever"
