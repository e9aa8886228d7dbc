"""Names of a process' nodes."""

from __future__ import annotations

import platform

import pytest

from podling.kubelet.node.machine import primary_address
from podling.machinery.network_ranges import Network, network_ranges
from podling.node import machine
from podling.node.machine import node_names


@pytest.mark.parametrize(
    ("name", "count", "names"),
    [("Box", 1, ["box"]), ("box", 3, ["box", "box-2", "box-3"]), ("", 1, ["localhost"]), ("box", 0, [])],
)
def test_nodes_are_named_after_the_machine(
    monkeypatch: pytest.MonkeyPatch, name: str, count: int, names: list[str]
) -> None:
    monkeypatch.setattr(platform, "node", lambda: name)
    assert node_names(count) == names


IP4, IP6 = "192.0.2.7", "2001:db8::7"
DEFAULT, BOTH = network_ranges().pods, network_ranges("10.88.0.0/16,fd00:88::/48").pods
IPV6_FIRST = network_ranges("fd00:88::/48,10.88.0.0/16").pods
ADDRESSES = [
    (DEFAULT, IP6, "", (IP4,)),
    (BOTH, IP6, "", (IP4, IP6)),
    (BOTH, "", "", (IP4,)),
    (IPV6_FIRST, IP6, "", (IP6, IP4)),
    (IPV6_FIRST, "", "", (IP4,)),
    (DEFAULT, IP6, "fd00::1, 10.0.0.1", ("fd00::1", "10.0.0.1")),
    (DEFAULT, IP6, "10.0.0.1", ("10.0.0.1",)),
    (BOTH, IP6, "10.0.0.1", ("10.0.0.1",)),
    (DEFAULT, IP6, "fd00:0::1", ("fd00::1",)),
    (DEFAULT, IP6, "::ffff:10.0.0.1", ("10.0.0.1",)),
    (BOTH, IP6, "::", (IP6, IP4)),
    (BOTH, "", "::", (IP4,)),
    (DEFAULT, IP6, "::", (IP6,)),
    (DEFAULT, "", "::", (IP4,)),
    (BOTH, IP6, "0.0.0.0", (IP4, IP6)),
    (IPV6_FIRST, IP6, "0.0.0.0", (IP4, IP6)),
    (IPV6_FIRST, IP6, "::", (IP6, IP4)),
    (DEFAULT, IP6, "0.0.0.0", (IP4,)),
]


@pytest.mark.parametrize(("pods", "second", "chosen", "wanted"), ADDRESSES)
def test_node_has_an_address_of_each_family_of_pods(
    monkeypatch: pytest.MonkeyPatch,
    pods: tuple[Network, ...],
    second: str,
    chosen: str,
    wanted: tuple[str, ...],
) -> None:
    monkeypatch.setattr(machine, "primary_address", lambda: IP4)
    monkeypatch.setattr(machine, "second_address", lambda: second)
    assert machine.node_addresses(pods, chosen) == wanted


PROBLEMS = [
    ("x", "it names an IP address, or two of different families"),
    ("127.0.0.1", "--node-ip 127.0.0.1 can't be loopback address"),
    ("224.0.0.1", "can't be a multicast address"),
    ("fe80::1", "can't be a link-local unicast address"),
    ("ff02::1", "--node-ip ff02::1 can't be a multicast address"),
    ("::1", "--node-ip ::1 can't be loopback address"),
    ("::ffff:127.0.0.1", "--node-ip 127.0.0.1 can't be loopback address"),
    ("169.254.1.1", "--node-ip 169.254.1.1 can't be a link-local unicast address"),
    ("2001:db8::fa", 'node IP: "2001:db8::fa" not found in the host\'s network interfaces'),
    ("", 'invalid --node-ip "": it names an IP address'),
    ("192.0.2.1,", "it names an IP address, or two of different families"),
    ("192.0.2.1/24", "it names an IP address, or two of different families"),
    ("192.0.2.1,x", "it names an IP address, or two of different families"),
    ("2001:db8::1,2001:db8::2", "must contain either a single IP or a dual-stack pair of IPs"),
    ("192.0.2.1,::ffff:192.0.2.2", "must contain either a single IP or a dual-stack pair of IPs"),
    ("192.0.2.1,2001:db8::1,192.0.2.2", "must contain either a single IP or a dual-stack pair of IPs"),
    ("0.0.0.0,2001:db8::1", "dual-stack node IP cannot include '0.0.0.0' or '::'"),
    ("192.0.2.1,::", "dual-stack node IP cannot include '0.0.0.0' or '::'"),
    ("127.0.0.1,2001:db8::1", "--node-ip 127.0.0.1 can't be loopback address"),
    ("192.0.2.250", 'node IP: "192.0.2.250" not found in the host\'s network interfaces'),
    ("192.0.2.1,192.0.2.2", "must contain either a single IP or a dual-stack pair of IPs"),
]


@pytest.mark.parametrize(("chosen", "why"), PROBLEMS)
def test_impossible_node_ip_is_refused(chosen: str, why: str) -> None:
    assert why in machine.node_ip_problem(chosen)


@pytest.mark.parametrize("chosen", ["::", "0.0.0.0"])
def test_family_is_accepted_in_place_of_an_address(chosen: str) -> None:
    assert not machine.node_ip_problem(chosen)


def test_address_of_the_machine_is_accepted() -> None:
    address = primary_address()
    if not address.startswith("127."):
        assert not machine.node_ip_problem(address)
