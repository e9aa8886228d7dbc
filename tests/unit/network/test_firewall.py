"""The nftables table, and which host ports meet."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network

import pytest
from msgspec.structs import replace

from podling.network.firewall import check_ports, forward_rules, ruleset
from podling.network.leases import Lease
from podling.runtime.base import PortMapping, RuntimeFailure

POOL, SUBNET = IPv4Network("10.88.0.0/16"), IPv4Network("10.88.3.0/24")


def lease(name: str, *ports: PortMapping, address: str = "10.88.3.2") -> Lease:
    return Lease(sandbox_id=name, address=address, ports=ports)


def port(host: int, container: int = 80, **more: str) -> PortMapping:
    return PortMapping(host_port=host, container_port=container, **more)


def text(*leases: Lease) -> str:
    return ruleset("podling_x", "pl-x", POOL, SUBNET, leases)


def test_the_whole_table_is_replaced_in_one_transaction() -> None:
    assert text().startswith("table ip podling_x {}\ndelete table ip podling_x\ntable ip podling_x {\n")


def test_pods_leave_the_cluster_with_the_nodes_address() -> None:
    assert 'ip saddr 10.88.3.0/24 ip daddr != 10.88.0.0/16 oifname != "pl-x" masquerade' in text()


def test_host_ports_lead_to_their_pods() -> None:
    rules = text(
        lease("a", port(8080), port(53, 5353, protocol="UDP")),
        lease("b", port(9090, 90), address="10.88.3.3"),
    )
    assert "dnat ip to tcp dport map { 8080 : 10.88.3.2 . 80, 9090 : 10.88.3.3 . 90 }" in rules
    assert "dnat ip to udp dport map { 53 : 10.88.3.2 . 5353 }" in rules
    assert "ip saddr . ip daddr { 10.88.3.2 . 10.88.3.2, 10.88.3.3 . 10.88.3.3 } masquerade" in rules


def test_a_host_port_on_one_address_comes_before_those_on_all() -> None:
    rules = text(lease("a", port(80), port(80, 81, host_ip="192.0.2.2")))
    one = rules.index("ip daddr 192.0.2.2 dnat ip to tcp dport map { 80 : 10.88.3.2 . 81 }")
    assert one < rules.index("    dnat ip to tcp dport map { 80 : 10.88.3.2 . 80 }")


SECOND_POOL, SECOND = IPv6Network("fd00:88::/48"), IPv6Network("fd00:88:0:3::/64")


def text6(*leases: Lease) -> str:
    return ruleset("podling_x", "pl-x", SECOND_POOL, SECOND, leases)


def test_pods_leave_the_cluster_with_the_nodes_ipv6_address() -> None:
    rules = text6()
    assert rules.startswith("table ip6 podling_x {}\ndelete table ip6 podling_x\ntable ip6 podling_x {\n")
    assert 'ip6 saddr fd00:88:0:3::/64 ip6 daddr != fd00:88::/48 oifname != "pl-x" masquerade' in rules
    assert "127.0.0.0/8" not in rules


FAMILIES = [("", True, True), ("0.0.0.0", True, True), ("::", True, True), ("192.0.2.2", True, False),
            ("2001:db8::2", False, True)]  # fmt: skip


@pytest.mark.parametrize(("host", "first", "second"), FAMILIES)
def test_host_port_is_answered_in_the_families_of_its_address(host: str, first: bool, second: bool) -> None:
    leases = [replace(lease("a", port(8080, host_ip=host)), second="fd00:88:0:3::2")]
    assert ("8080 : 10.88.3.2 . 80" in text(*leases)) == first
    rules = text6(*leases)
    assert ("8080 : fd00:88:0:3::2 . 80" in rules) == second
    assert ("ip6 saddr . ip6 daddr { fd00:88:0:3::2 . fd00:88:0:3::2 } masquerade" in rules) == second


def test_host_port_of_a_pod_without_ipv6_is_answered_in_ipv4_alone() -> None:
    assert "dnat" not in text6(lease("a", port(8080)))


def test_the_same_leases_give_the_same_text() -> None:
    leases = [lease("a", port(1)), lease("b", port(2), address="10.88.3.3")]
    assert text(*leases) == text(*leases)


@pytest.mark.parametrize(
    ("mine", "theirs", "meet"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80), port(80, protocol="UDP"), False),
        (port(80, host_ip="10.0.0.1"), port(80, host_ip="10.0.0.2"), False),
        (port(80, host_ip="10.0.0.1"), port(80, host_ip="10.0.0.1"), True),
        (port(80, host_ip="10.0.0.1"), port(80), True),
        (port(80, host_ip="0.0.0.0"), port(80, host_ip="10.0.0.1"), True),
    ],
)
def test_host_ports_that_meet_are_refused(mine: PortMapping, theirs: PortMapping, meet: bool) -> None:
    asking, other = lease("a", mine), lease("b", theirs)
    if meet:
        with pytest.raises(RuntimeFailure, match="already in use by another pod"):
            check_ports(asking, [other])
    else:
        check_ports(asking, [other])


def test_a_pod_does_not_meet_itself_and_unknown_protocols_are_named() -> None:
    check_ports(lease("a", port(80)), [lease("a", port(80))])
    with pytest.raises(RuntimeFailure, match='unknown protocol "ICMP"'):
        check_ports(lease("a", port(80, protocol="ICMP")), [])
    with pytest.raises(RuntimeFailure, match="pods have no IPv6 here"):
        check_ports(lease("a", port(80, host_ip="fd00::1")), [])
    check_ports(lease("a", port(80, host_ip="fd00::1")), [], has_ipv6=True)


INTO, OUT = ["FORWARD", "-i", "pl-x", "-j", "ACCEPT"], ["FORWARD", "-o", "pl-x", "-j", "ACCEPT"]


@pytest.mark.parametrize(
    ("listing", "missing"),
    [
        ("-P FORWARD ACCEPT\n", []),
        ("", []),
        ("-P FORWARD DROP\n-A FORWARD -j DOCKER-USER\n", [INTO, OUT]),
        ("-P FORWARD DROP\n-A FORWARD -i pl-x -j ACCEPT\n", [OUT]),
        ("-P FORWARD DROP\n-A FORWARD -o pl-x -j ACCEPT\n-A FORWARD -i pl-x -j ACCEPT\n", []),
        ("-P FORWARD DROP\n-A FORWARD -i pl-other -j ACCEPT\n", [INTO, OUT]),
    ],
)
def test_a_machine_that_forwards_nothing_lets_pods_through(listing: str, missing: list[list[str]]) -> None:
    assert forward_rules(listing, "pl-x") == missing
