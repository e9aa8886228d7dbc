"""Pools of Services' addresses: which addresses a range has, and which are drawn first."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.apiserver.registry.address_pool import Address, AddressPool, bands, can_have


def used(*addresses: str) -> Callable[[Address], bool]:
    return set(map(ip_address, addresses)).__contains__


# Upstream: the table of TestCalculateRangeOffset, and the sizes that NewIPAllocator computes.
BANDS = [
    ("192.168.1.0/24", 16, 254),
    ("192.168.1.0/27", 16, 30),
    ("192.168.1.0/28", 0, 14),
    ("192.168.1.0/29", 0, 6),
    ("10.96.0.0/12", 256, (1 << 20) - 2),
    ("10.0.0.0/20", 256, 4094),
    ("fd00::/112", 256, (1 << 16) - 1),
    ("fd00::/124", 0, 15),
    ("fd00::/64", 256, (1 << 64) - 1),
]


@pytest.mark.parametrize(("cidr", "static", "size"), BANDS)
def test_range_has_kubernetes_bands(cidr: str, static: int, size: int) -> None:
    network = ip_network(cidr)
    found = list(bands(network))
    base = int(network.network_address)
    assert found[0] == (base + 1 + static, size - static)
    assert found[1:] == ([(base + 1, static)] if static else [])


@given(st.integers(16, 30).map(lambda prefix: IPv4Network(("10.0.0.0", prefix))), st.data())
def test_bands_are_the_addresses_that_services_can_have(network: IPv4Network, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, network.num_addresses - 1))
    number = int(network.network_address) + offset
    inside = any(first <= number < first + count for first, count in bands(network))
    assert inside == can_have(network, network[offset])


def test_static_addresses_are_drawn_last() -> None:
    pool, network = AddressPool(), ip_network("10.0.0.0/27")
    drawn = [pool.draw("a", network, used()) for _ in range(31)]
    assert {str(each) for each in drawn[:14]} == {f"10.0.0.{number}" for number in range(17, 31)}
    assert {str(each) for each in drawn[14:30]} == {f"10.0.0.{number}" for number in range(1, 17)}
    assert drawn[30] is None


def test_address_in_use_is_never_drawn() -> None:
    pool, network = AddressPool(), ip_network("10.0.0.0/30")
    assert pool.draw("a", network, used("10.0.0.2")) == ip_address("10.0.0.1")
    assert pool.draw("a", network, used("10.0.0.2")) is None


def test_draw_from_a_large_range_is_spread() -> None:
    pool, network = AddressPool(), ip_network("fd00::/64")
    drawn = {pool.draw("a", network, used()) for _ in range(50)}
    low_bits = {int(each) & 0xFF for each in drawn if each is not None}
    assert len(drawn) == 50
    assert len(low_bits) > 20


def test_held_address_is_refused_to_other_holders() -> None:
    pool, address = AddressPool(), ip_address("10.0.0.1")
    assert pool.take("a", address, used())
    assert pool.take("a", address, used())
    assert not pool.take("b", address, used())
    assert pool.draw("b", ip_network("10.0.0.0/30"), used()) == ip_address("10.0.0.2")
    pool.release("a")
    assert pool.take("b", address, used())
    assert not pool.take("c", ip_address("10.0.0.3"), used("10.0.0.3"))
