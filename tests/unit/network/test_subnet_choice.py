"""The choice of a node's subnets: assigned, remembered, or free on this machine."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import pytest

from podling.network.blocks import Blocks
from podling.network.subnet_choice import SubnetChoice

POOL = IPv4Network("10.231.0.0/16")
ASSIGNED = Blocks(IPv4Network("10.231.7.0/24"), IPv6Network("fd00:231:0:7::/64"))


def choice(tmp_path: Path, name: str = "one", *, wanted: IPv4Network | None = None) -> SubnetChoice:
    state = tmp_path / name
    state.mkdir(exist_ok=True)
    return SubnetChoice(state, name, pool=POOL, wanted=wanted, reservations=tmp_path / "reserved")


def test_nodes_of_a_machine_choose_different_subnets(tmp_path: Path) -> None:
    first = choice(tmp_path).choose(None, has_pods=False)
    second = choice(tmp_path, "two").choose(None, has_pods=False)
    assert [str(first.ipv4), str(second.ipv4)] == ["10.231.0.0/24", "10.231.1.0/24"]


def test_choice_is_remembered_until_it_is_forgotten(tmp_path: Path) -> None:
    own = choice(tmp_path)
    before = own.choose(None, has_pods=False)
    (tmp_path / "reserved" / "one").unlink()
    assert choice(tmp_path, "two").choose(None, has_pods=False) == before, "nobody has reserved it"
    assert choice(tmp_path).choose(None, has_pods=False) == before
    own.forget()
    assert choice(tmp_path).choose(None, has_pods=False) != before


@pytest.mark.parametrize(("has_pods", "chosen"), [(False, "10.231.7.0/24"), (True, "10.231.0.0/24")])
def test_assigned_block_is_used_once_no_pod_has_another_address(
    tmp_path: Path, has_pods: bool, chosen: str
) -> None:
    choice(tmp_path).choose(None, has_pods=False)
    assert str(choice(tmp_path).choose(ASSIGNED, has_pods=has_pods).ipv4) == chosen


def test_wanted_subnet_comes_before_all_others(tmp_path: Path) -> None:
    wanted = IPv4Network("10.231.9.0/24")
    assert choice(tmp_path, wanted=wanted).choose(ASSIGNED, has_pods=False).ipv4 == wanted


def test_subnet_has_the_chosen_size(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    own = SubnetChoice(
        tmp_path / "one", "one", pool=POOL, prefixes={4: 26}, reservations=tmp_path / "reserved"
    )
    assert str(own.choose(None, has_pods=False).ipv4) == "10.231.0.0/26"


def test_damaged_record_is_replaced(tmp_path: Path) -> None:
    own = choice(tmp_path)
    (tmp_path / "one" / "subnet").write_text("10.231.")
    assert str(own.choose(None, has_pods=False).ipv4) == "10.231.0.0/24"
    assert (tmp_path / "one" / "subnet").read_text() == "10.231.0.0/24\n"
