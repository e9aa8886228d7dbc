"""Names as labels, and the addresses that names of reverse zones stand for."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.network.dns.answers import address_record, is_below, labels_of, reverse_address


@given(st.ip_addresses())
def test_reverse_name_stands_for_its_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert reverse_address(labels_of(address.reverse_pointer)) == address.packed
    assert reverse_address(labels_of(address.reverse_pointer.upper() + ".")) == address.packed


@given(st.text(alphabet="0123456789abcx.", max_size=80))
def test_other_names_stand_for_no_address(text: str) -> None:
    for zone in ("in-addr.arpa", "ip6.arpa", "example"):
        packed = reverse_address(labels_of(f"{text}.{zone}"))
        if packed:
            assert labels_of(ipaddress.ip_address(packed).reverse_pointer) == labels_of(f"{text}.{zone}")


@pytest.mark.parametrize(
    ("name", "labels"),
    [("", ()), (".", ()), ("a", ("a",)), ("A.b.", ("a", "b")), ("a..b", ("a", "", "b"))],
)
def test_labels_of_a_name(name: str, labels: tuple[str, ...]) -> None:
    assert labels_of(name) == labels


def test_names_below_a_zone() -> None:
    zone = ("cluster", "local")
    assert is_below(zone, zone)
    assert is_below(("a", "cluster", "local"), zone)
    assert not is_below(("local",), zone)
    assert not is_below(("xcluster", "local"), zone)
    assert is_below(("a",), ())


def test_type_of_an_address_record_follows_from_the_address() -> None:
    assert [address_record("", 30, ip).type for ip in ("10.0.0.1", "fd00::1")] == [1, 28]
