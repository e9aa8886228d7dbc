"""Blocks of pod addresses of a node, and the IPv6 addresses that follow from IPv4 addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.blocks import Blocks, choose_second
from podling.runtime.base import RuntimeFailure

FIRST_POOL, POOL = IPv4Network("10.88.0.0/16"), IPv6Network("fd00:88::/48")
BOTH = Blocks(IPv4Network("10.88.3.0/24"), IPv6Network("fd00:88:0:3::/64"))


def test_first_address_of_each_block_is_the_gateway() -> None:
    assert BOTH.gateway == IPv4Address("10.88.3.1")
    assert BOTH.gateway6 == IPv6Address("fd00:88:0:3::1")
    assert Blocks(BOTH.ipv4).gateway6 is None


def test_ipv6_address_has_the_place_of_the_ipv4_address() -> None:
    assert BOTH.second(IPv4Address("10.88.3.5")) == IPv6Address("fd00:88:0:3::5")
    assert Blocks(BOTH.ipv4).second(IPv4Address("10.88.3.5")) is None


@given(st.integers(16, 30))
def test_pods_of_a_block_have_addresses_of_their_own(prefix: int) -> None:
    blocks = Blocks(IPv4Network(("10.88.0.0", prefix)), BOTH.ipv6)
    pods = blocks.pod_addresses()
    seconds = {blocks.second(address) for address in pods}
    assert len(pods) == len(seconds) == blocks.ipv4.num_addresses - 3
    assert not {blocks.gateway6, blocks.ipv6} & seconds
    assert blocks.gateway not in pods
    assert blocks.ipv4.broadcast_address not in pods


CHOICES = [
    ("10.88.0.0/24", [], "fd00:88::/64"),
    ("10.88.3.0/24", [], "fd00:88:0:3::/64"),
    ("10.88.255.0/24", [], "fd00:88:0:ff::/64"),
    ("10.88.3.0/24", ["fd00:88:0:3::/64"], "fd00:88::/64"),
    ("10.88.3.0/24", ["fd00:88:0:3::7/128", "fd00:88::/63"], "fd00:88:0:2::/64"),
    ("10.1.2.0/24", [], "fd00:88::/64"),
]


@pytest.mark.parametrize(("first", "taken", "chosen"), CHOICES)
def test_second_block_has_the_number_of_the_first(first: str, taken: list[str], chosen: str) -> None:
    used = [IPv6Network(each) for each in taken]
    assert choose_second(POOL, FIRST_POOL, IPv4Network(first), used) == IPv6Network(chosen)


def test_second_block_has_the_chosen_size() -> None:
    pool, first = IPv6Network("fd00:88::/112"), IPv4Network("10.88.3.0/24")
    assert choose_second(pool, FIRST_POOL, first, [], 120) == IPv6Network("fd00:88::300/120")


def test_small_pool_is_used_up_and_says_so() -> None:
    pool, first = IPv6Network("fd00:88::/63"), IPv4Network("10.88.9.0/24")
    assert choose_second(pool, FIRST_POOL, first, []) == IPv6Network("fd00:88::/64")
    with pytest.raises(RuntimeFailure, match="no free /64 is left in the pod network fd00:88::/63"):
        choose_second(pool, FIRST_POOL, first, [IPv6Network("fd00::/16")])
