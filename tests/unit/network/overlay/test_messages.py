"""Netlink messages of the overlay, byte by byte where it matters."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import pytest

from podling.network.netlink.wire import RTM_DELADDR, RTM_NEWADDR
from podling.network.overlay.messages import (
    own_address,
    own_address_of,
    own_addresses_request,
)

ADDRESSES = [("10.88.1.0", 2, 32, 0), ("fd00:88:0:1::", 10, 128, 0x02)]


@pytest.mark.parametrize(("text", "family", "prefix", "flags"), ADDRESSES)
def test_address_of_the_tunnel_is_read_as_it_was_written(
    text: str, family: int, prefix: int, flags: int
) -> None:
    address = ip_address(text)
    added = own_address(7, address)
    assert added.kind == RTM_NEWADDR
    assert struct.unpack_from("=BBBBI", added.body) == (family, prefix, flags, 0, 7)
    assert own_address_of(added.body, 7) == address
    assert own_address_of(added.body, 8) is None, "another interface has it"
    assert own_address(7, address, delete=True).kind == RTM_DELADDR
    assert own_addresses_request(address.version)[0] == family


def test_address_that_the_kernel_made_is_left_alone() -> None:
    assert own_address_of(own_address(7, ip_address("fe80::1")).body, 7) is None
