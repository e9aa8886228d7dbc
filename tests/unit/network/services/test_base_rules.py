"""The fixed part of the proxy's table."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.network.services.base_rules import Place, base_text, chains, removal_text

PLACE = Place("ip", "podling_x_services", "pl-x", "10.88.3.0/24")


def rules(place: Place, name: str) -> tuple[str, ...]:
    (found,) = [chain.rules for chain in chains(place) if chain.name == name]
    return found


def test_elements_stay_when_the_base_is_written_again() -> None:
    text = base_text(PLACE)
    assert "delete" not in text
    assert "flush map" not in text
    assert all(line.startswith(("add ", "flush chain ")) for line in text.splitlines())


def test_every_chain_is_made_before_a_rule_leads_to_it() -> None:
    lines = base_text(PLACE).splitlines()
    first_rule = next(number for number, line in enumerate(lines) if line.startswith("add rule"))
    assert all(not line.startswith("add chain") for line in lines[first_rule:])


def test_traffic_from_outside_the_nodes_pods_gets_its_address() -> None:
    assert rules(PLACE, "services")[0].startswith("ip saddr != 10.88.3.0/24 ip daddr @cluster-ips jump")
    without_pods = structs.replace(PLACE, subnet="")
    assert rules(without_pods, "services")[0].startswith("ip daddr @cluster-ips jump")


def test_pods_of_other_clusters_use_their_own_services() -> None:
    others = 'iifname "pl-*" iifname != "pl-x"'
    assert rules(PLACE, "nat-prerouting") == (f"{others} goto nodeports", "jump services")
    assert rules(PLACE, "filter-forward")[0] == f"{others} return"


def test_guarded_port_is_for_the_machine_and_pods() -> None:
    guarded = structs.replace(PLACE, guarded_port=6443)
    assert rules(guarded, "filter-input")[0] == 'iifname != "lo" iifname != "pl-*" tcp dport 6443 drop'
    assert "drop" not in rules(PLACE, "filter-input")[0]


def test_addresses_of_no_service_are_dropped_for_pods_only() -> None:
    ranged = structs.replace(PLACE, service_ranges=("10.96.0.0/12",))
    assert rules(ranged, "filter-forward")[-1] == 'iifname "pl-x" ip daddr { 10.96.0.0/12 } drop'
    assert not any("10.96.0.0" in rule for rule in rules(ranged, "filter-output"))


def test_pods_whose_addresses_are_unknown_keep_them() -> None:
    """CNI plugins choose them. As kube-proxy without the addresses of local pods, the proxy marks none."""
    assert any("mark-for-masquerade" in rule for rule in rules(PLACE, "services"))
    unknown = structs.replace(PLACE, subnet="", detects_local=False)
    assert not any("mark-for-masquerade" in rule for rule in rules(unknown, "services"))


def test_node_ports_are_not_answered_on_loopback() -> None:
    assert rules(PLACE, "nodeports")[0].startswith("ip daddr != 127.0.0.0/8 fib daddr type local")
    assert rules(structs.replace(PLACE, family="ip6"), "nodeports")[0].startswith("ip6 daddr != ::1 fib")


@pytest.mark.parametrize("change", [{"bridge": "pl-y"}, {"subnet": "10.88.4.0/24"}, {"guarded_port": 1}])
def test_other_rules_have_other_comments(change: dict[str, object]) -> None:
    other = structs.replace(PLACE, **change)
    assert [chain.comments() for chain in chains(PLACE)] != [chain.comments() for chain in chains(other)]


def test_removal_succeeds_without_the_table() -> None:
    assert removal_text(("ip",), "t") == "add table ip t\ndelete table ip t\n"
