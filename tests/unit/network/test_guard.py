"""Rules against forged addresses: which port may send which source."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

from podling.network.guard import hardware_address, port_name, ruleset

SUBNET = IPv4Network("10.88.3.0/24")


def test_hardware_address_follows_from_ip_address() -> None:
    assert hardware_address(IPv4Address("10.88.0.2")).hex(":") == "0a:58:0a:58:00:02"


def test_port_names_fit_and_differ_by_cluster_and_address() -> None:
    names = {port_name(cluster, address) for cluster in ("one", "two") for address in SUBNET.hosts()}
    assert len(names) == 2 * 254
    assert max(map(len, names)) <= 15


def test_every_address_but_the_gateway_is_bound_to_its_port() -> None:
    text = ruleset("podling_x", "one", SUBNET)
    for address in list(SUBNET.hosts())[1:]:
        entry = f'"{port_name("one", address)}" . {hardware_address(address).hex(":")} . {address}'
        assert text.count(entry) == 1
    assert " . 10.88.3.1," not in text
    assert " . 10.88.3.255" not in text


def test_table_is_replaced_in_one_transaction() -> None:
    start = "table bridge podling_x {}\ndelete table bridge podling_x\ntable bridge podling_x {\n"
    assert ruleset("podling_x", "one", SUBNET).startswith(start)
