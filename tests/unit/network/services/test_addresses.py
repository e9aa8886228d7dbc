"""Addresses of Services and endpoints as packets carry them."""

from __future__ import annotations

import pytest

from podling.api.networking_v1 import ServiceCIDR, ServiceCIDRSpec
from podling.network.services import addresses


@pytest.mark.parametrize(
    ("text", "family", "packed"),
    [
        ("10.0.0.1", "ip", bytes((10, 0, 0, 1))),
        ("10.0.0.1", "ip6", None),
        ("::1", "ip6", bytes(15) + b"\1"),
        ("::1", "ip", None),
        ("", "ip", None),
        ("host", "ip", None),
    ],
)
def test_addresses_are_packed_in_their_family_only(text: str, family: str, packed: bytes | None) -> None:
    assert addresses.packed(text, family) == packed


def test_targets_have_names_without_colons() -> None:
    found = addresses.target(bytes((10, 0, 0, 1)), 80)
    assert (addresses.address_of(found), addresses.in_name(found)) == (bytes((10, 0, 0, 1)), "10.0.0.1/80")
    assert addresses.in_name(addresses.target(bytes(15) + b"\1", 8080)) == "..1/8080"


def test_service_ranges_are_those_of_the_family_in_order() -> None:
    ranges = [
        ServiceCIDR(spec=ServiceCIDRSpec(cidrs=cidrs))
        for cidrs in (("10.97.0.0/16", "fd00::/112"), ("10.96.0.0/16",), ("10.96.0.0/16", "bad"))
    ]
    assert addresses.service_ranges(ranges, "ip") == ("10.96.0.0/16", "10.97.0.0/16")
    assert addresses.service_ranges(ranges, "ip6") == ("fd00::/112",)
