"""Subnets and addresses: chosen apart from what others use, leased, given back, found again."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import pytest

from podling.network.blocks import Blocks
from podling.network.leases import Leases, choose_address, choose_subnet
from podling.runtime.base import PortMapping, RuntimeFailure

POOL = IPv4Network("10.88.0.0/16")
SUBNET = IPv4Network("10.88.3.0/24")
SMALL = IPv4Network("10.88.3.0/29")


@pytest.mark.parametrize(
    ("taken", "chosen"),
    [
        ([], "10.88.0.0/24"),
        (["10.88.0.0/24"], "10.88.1.0/24"),
        (["10.88.0.0/23", "10.88.2.7/32", "192.168.0.0/16"], "10.88.3.0/24"),
        (["10.88.1.0/24"], "10.88.0.0/24"),
    ],
)
def test_a_subnet_apart_from_what_is_taken(taken: list[str], chosen: str) -> None:
    assert str(choose_subnet(POOL, 24, [IPv4Network(network) for network in taken])) == chosen


def test_full_or_foreign_pool_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match=r"no free /24 is left in the pod network 10\.88\.0\.0/16"):
        choose_subnet(POOL, 24, [IPv4Network("10.0.0.0/8")])


def test_addresses_go_round_so_that_none_is_used_again_soon() -> None:
    assert str(choose_address(SMALL, set(), "")) == "10.88.3.2"
    assert str(choose_address(SMALL, {"10.88.3.2"}, "10.88.3.2")) == "10.88.3.3"
    assert str(choose_address(SMALL, set(), "10.88.3.3")) == "10.88.3.4"
    assert str(choose_address(SMALL, set(), "10.88.3.6")) == "10.88.3.2"


def test_a_full_subnet_says_so() -> None:
    everything = {f"10.88.3.{host}" for host in range(2, 7)}
    with pytest.raises(
        RuntimeFailure, match=r"every address of the node's pod subnet 10\.88\.3\.0/29 is in use"
    ):
        choose_address(SMALL, everything, "10.88.3.4")


def test_leases_are_kept_until_given_back(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.load()
    ports = (PortMapping(container_port=80, host_port=8080),)
    first = leases.take(Blocks(SUBNET), "one", ports)
    assert leases.take(Blocks(SUBNET), "one", ()) == first, "asking again gives the same"
    second = leases.take(Blocks(SUBNET), "two", ())
    assert first.address != second.address

    again = Leases(tmp_path)
    again.load()
    assert set(again.all()) == {first, second}
    assert again.give_back("one") == first
    assert again.give_back("one") is None
    assert [file.name for file in tmp_path.iterdir()] == [second.address]


def test_lease_has_an_address_of_each_family_of_its_start(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.load()
    both = Blocks(SUBNET, IPv6Network("fd00:88:0:3::/64"))
    one = leases.take(Blocks(SUBNET), "one", ())
    two = leases.take(both, "two", ())
    assert (one.address, one.second) == ("10.88.3.2", "")
    assert (two.address, two.second) == ("10.88.3.3", "fd00:88:0:3::3")
    again = Leases(tmp_path)
    again.load()
    assert again.take(both, "one", ()) == one, "a pod that runs keeps the addresses that it has"


def test_a_lease_cut_off_while_being_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "10.88.3.2").write_text('{"sandbox_id": "on')
    leases = Leases(tmp_path)
    leases.load()
    assert leases.all() == ()
    assert leases.take(Blocks(SUBNET), "one", ()).address == "10.88.3.2"


def test_withheld_address_is_leased_again_only_after_its_release(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.load()
    blocks = Blocks(IPv4Network("10.88.3.0/30"))
    only = leases.take(blocks, "one", ())
    leases.withhold("one")
    assert leases.all() == ()
    leases.load()
    assert leases.all() == (), "a repair reads the files again"
    with pytest.raises(RuntimeFailure, match="in use"):
        leases.take(blocks, "two", ())
    leases.release(only.address)
    assert leases.take(blocks, "two", ()).address == only.address


def test_withheld_lease_is_found_after_a_crash(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    leases.load()
    lease = leases.take(Blocks(SUBNET), "one", ())
    leases.withhold("one")
    again = Leases(tmp_path)
    again.load()
    assert again.all() == (lease,)
