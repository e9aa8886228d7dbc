"""The networks that the machine's routing tables name."""

from __future__ import annotations

from ipaddress import ip_network

from podling.machinery.network_ranges import Route
from podling.network.routes import machine_routes, parse_ipv4, parse_ipv6


def test_ipv4_routes_are_read_without_the_default_route() -> None:
    text = (
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "br\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    )
    assert parse_ipv4(text) == [
        Route(ip_network("192.0.2.0/24"), "eth0"),
        Route(ip_network("10.88.0.0/16"), "br"),
    ]


def line(network: str, flags: str, interface: str) -> str:
    block = ip_network(network)
    zero = "0" * 32
    address = block.network_address.packed.hex()
    return f"{address} {block.prefixlen:02x} {zero} 00 {zero} 00000100 00000001 00000000 {flags} {interface}"


def test_ipv6_routes_are_read_without_those_of_every_interface() -> None:
    lines = [
        line("fd00::/64", "00000001", "eth0"),
        line("fd00::2/128", "80200001", "eth0"),
        line("::/0", "00000003", "eth0"),
        line("fe80::/64", "00000001", "eth0"),
        line("ff00::/8", "00000001", "eth0"),
        line("::1/128", "80200001", "lo"),
        line("2001:db8::/32", "00000201", "lo"),
        line("2001:db8:1::/48", "00000000", "eth1"),
    ]
    assert parse_ipv6("\n".join(lines)) == [
        Route(ip_network("fd00::/64"), "eth0"),
        Route(ip_network("fd00::2/128"), "eth0"),
    ]


def test_routes_of_this_machine_can_be_read() -> None:
    assert all(route.network.prefixlen and route.interface for route in machine_routes())
