"""Ranges of pods, Services and node ports: which a cluster can have, and the reasons against the others."""

from __future__ import annotations

import re
from ipaddress import ip_network

import pytest

from podling.machinery.network_ranges import (
    SERVICE_RANGE,
    Route,
    missing_family,
    missing_ipv4,
    network_ranges,
    parse_port_range,
    route_conflict,
)


def test_default_ranges_are_ipv4_alone() -> None:
    found = network_ranges()
    assert found.pods == (ip_network("10.88.0.0/16"),)
    assert found.services == (ip_network("10.96.0.0/12"),)
    assert (found.node_ports[0], found.node_ports[-1]) == (30000, 32767)
    assert found.families == ("IPv4",)


def test_first_service_range_has_the_default_family() -> None:
    found = network_ranges(services="fd00:96::/112, 10.96.0.0/12")
    assert found.families == ("IPv6", "IPv4")


REFUSED = [
    ("10.88.0.0", SERVICE_RANGE, '--cluster-cidr "10.88.0.0": must be a valid CIDR value'),
    ("10.88.0.0/255.255.0.0", SERVICE_RANGE, "must be a valid CIDR value"),
    ("10.88.0.1/16", SERVICE_RANGE, "must not have bits set beyond the prefix length"),
    ("", SERVICE_RANGE, '--cluster-cidr "": must be a valid CIDR value'),
    ("10.1.0.0/16,10.2.0.0/16", SERVICE_RANGE, "both ranges are IPv4; two ranges must be of different"),
    ("10.1.0.0/16,fd00::/56,10.2.0.0/16", SERVICE_RANGE, "must not contain more than two entries"),
    ("10.88.0.0/25", SERVICE_RANGE, "10.88.0.0/25 has no block with a mask size of 24"),
    ("10.96.0.0/16", SERVICE_RANGE, "--cluster-cidr 10.96.0.0/16 and --service-cluster-ip-range 10.96.0.0/12 "
     "overlap"),
    ("10.88.0.0/16", "10.96.0.0/29", "is too small: the prefix length must be at most 28"),
    ("10.88.0.0/16", "fd00:96::/63", "is too large: the prefix length must be at least 64"),
    ("10.88.0.0/16", "fd00:96::/125", "is too small: the prefix length must be at most 124"),
]  # fmt: skip


@pytest.mark.parametrize(("pods", "services", "why"), REFUSED)
def test_impossible_ranges_are_refused_with_their_option(pods: str, services: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        network_ranges(pods, services)


PORTS = [
    ("30000-32767", range(30000, 32768)),
    ("30000+10", range(30000, 30011)),
    ("30000", range(30000, 30001)),
    ("1-65535", range(1, 65536)),
]


@pytest.mark.parametrize(("text", "ports"), PORTS)
def test_port_ranges_have_kubernetes_forms(text: str, ports: range) -> None:
    assert parse_port_range(text) == ports


@pytest.mark.parametrize("text", ["", "0-10", "32767-30000", "30000-65536", "a-b", "30000-", "-5", "1-2-3"])
def test_other_port_ranges_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--service-node-port-range"):
        network_ranges(node_ports=text)


def test_range_of_a_machine_route_is_refused() -> None:
    routes = [Route(ip_network("192.0.2.0/24"), "eth0"), Route(ip_network("fd00:88:0:1::/64"), "eth1")]
    blocks = network_ranges("10.88.0.0/16,fd00:88::/48", SERVICE_RANGE).pods
    assert route_conflict("--cluster-cidr", blocks, routes) == (
        "--cluster-cidr fd00:88::/48 overlaps the machine's route to fd00:88:0:1::/64 (interface eth1); "
        "choose a range that the machine does not use"
    )
    assert not route_conflict("--cluster-cidr", blocks, routes[:1])


IPV4 = [
    ("fd00:88::/48", SERVICE_RANGE, "--cluster-cidr has no IPv4 range"),
    (
        "fd00:88::/48,10.88.0.0/16",
        "fd00:96::/112",
        "--service-cluster-ip-range must begin with the IPv4 range",
    ),
    ("fd00:88::/48,10.88.0.0/16", f"fd00:96::/112,{SERVICE_RANGE}", "must begin with the IPv4 range"),
    ("fd00:88::/48,10.88.0.0/16", f"{SERVICE_RANGE},fd00:96::/112", ""),
]


@pytest.mark.parametrize(("pods", "services", "why"), IPV4)
def test_missing_ipv4_is_named(pods: str, services: str, why: str) -> None:
    found = missing_ipv4(network_ranges(pods, services))
    assert why in found
    assert bool(found) == bool(why)


def test_family_of_services_without_pods_is_named() -> None:
    dual = "10.96.0.0/12,fd00:96::/112"
    assert "so no pod could serve there" in missing_family(network_ranges(services=dual))
    assert not missing_family(network_ranges("10.88.0.0/16,fd00:88::/48", dual))
    assert not missing_family(network_ranges("10.88.0.0/16,fd00:88::/48"))
