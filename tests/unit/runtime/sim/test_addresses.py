"""Addresses of simulated pods."""

from __future__ import annotations

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.sim.addresses import Addresses


def test_addresses_skip_network_gateway_and_broadcast() -> None:
    addresses = Addresses("10.244.1.0/29")
    assert [addresses.take(name) for name in "abcde"] == [f"10.244.1.{last}" for last in range(2, 7)]
    with pytest.raises(RuntimeFailure, match=r"^no IP addresses available in range 10\.244\.1\.0/29$"):
        addresses.take("f")


def test_freed_address_is_given_out_after_all_others() -> None:
    addresses = Addresses("10.244.1.0/29")
    for name in "abc":
        addresses.take(name)
    addresses.give_back("a")
    assert [addresses.take(name) for name in "def"] == ["10.244.1.5", "10.244.1.6", "10.244.1.2"]


def test_giving_back_an_unknown_sandbox_frees_nothing() -> None:
    addresses = Addresses("10.244.1.0/30")
    addresses.take("a")
    addresses.give_back("b")
    with pytest.raises(RuntimeFailure):
        addresses.take("c")
    addresses.give_back("a")
    addresses.give_back("a")
    assert addresses.take("c") == "10.244.1.2"


@pytest.mark.parametrize("cidr", ["10.0.0.0/31", "10.0.0.0/32"])
def test_network_without_hosts_has_no_addresses(cidr: str) -> None:
    with pytest.raises(RuntimeFailure):
        Addresses(cidr).take("a")
