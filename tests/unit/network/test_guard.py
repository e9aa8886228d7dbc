"""Rules against forged addresses: which port may send which source."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network

from podling.network.blocks import Blocks
from podling.network.guard import hardware_address, port_name, ruleset

SUBNET = IPv4Network("10.88.3.0/24")
ONE, BOTH = Blocks(SUBNET), Blocks(SUBNET, IPv6Network("fd00:88:0:3::/64"))


def test_hardware_address_follows_from_ip_address() -> None:
    assert hardware_address(IPv4Address("10.88.0.2")).hex(":") == "0a:58:0a:58:00:02"


def test_port_names_fit_and_differ_by_cluster_and_address() -> None:
    names = {port_name(cluster, address) for cluster in ("one", "two") for address in SUBNET.hosts()}
    assert len(names) == 2 * 254
    assert max(map(len, names)) <= 15


def test_every_address_but_the_gateway_is_bound_to_its_port() -> None:
    text = ruleset("podling_x", "one", ONE)
    for address in list(SUBNET.hosts())[1:]:
        entry = f'"{port_name("one", address)}" . {hardware_address(address).hex(":")} . {address}'
        assert text.count(entry) == 1
    assert " . 10.88.3.1," not in text
    assert " . 10.88.3.255" not in text


def test_table_is_replaced_in_one_transaction() -> None:
    start = "table bridge podling_x {}\ndelete table bridge podling_x\ntable bridge podling_x {\n"
    assert ruleset("podling_x", "one", ONE).startswith(start)


def test_pods_with_two_families_are_bound_to_both_addresses() -> None:
    text = ruleset("podling_x", "one", BOTH)
    for address in list(SUBNET.hosts())[1:]:
        entry = (
            f'"{port_name("one", address)}" . {hardware_address(address).hex(":")} . {BOTH.second(address)}'
        )
        assert text.count(entry) == 1
    assert "iifname . ether saddr . ip6 saddr @pods6 goto packet6_from_pod" in text
    assert "icmpv6 type 133-137 drop" in text


def test_pods_with_one_family_send_no_ipv6() -> None:
    text = ruleset("podling_x", "one", ONE)
    assert "ip6" not in text
    assert text.count("drop") == 5


def test_pods_send_packets_to_the_hardware_address_of_the_node_only() -> None:
    address = hardware_address(ONE.gateway).hex(":")
    assert f"ether daddr != {address} drop" in ruleset("podling_x", "one", ONE)
