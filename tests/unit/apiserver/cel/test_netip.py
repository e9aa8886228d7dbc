"""IP addresses and prefixes as Go's ``net/netip`` reads them."""

from __future__ import annotations

import re

import pytest

from podling.apiserver.cel import netip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.0.0.0", "0.0.0.0"),
        ("192.168.140.255", "192.168.140.255"),
        ("::", "::"),
        ("::1", "::1"),
        ("fd7a:115c:a1e0:ab12:4843:cd96:626b:430b", "fd7a:115c:a1e0:ab12:4843:cd96:626b:430b"),
        ("fd7a:115c::626b:430b", "fd7a:115c::626b:430b"),
        ("fd7a:115c:a1e0:ab12:4843:cd96::", "fd7a:115c:a1e0:ab12:4843:cd96::"),
        ("FD9E:1A04:F01D::1", "fd9e:1a04:f01d::1"),
        ("2001:db8::1.2.3.4", "2001:db8::102:304"),
    ],
)
def test_address_is_read(text: str, shown: str) -> None:
    assert str(netip.parse(text)) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unable to parse IP"),
        ("bad", "unable to parse IP"),
        ("1234", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("0300.2.3.4", "IPv4 field has octet with leading zero"),
        ("1.2.3.300", "IPv4 field has value >255"),
        ("1.2.3.4e", 'unexpected character (at "e")'),
        ("fe80::1%", "zone must be a non-empty string"),
        ("fe80:1cc0:3e8c:119f:c2e1:217a:93ad", "address string too short"),
        ("fe80:1cc0:3e8c:119f:c2e1:217a:93ad:1:2", 'trailing garbage after address (at "2")'),
        ("fe80::1cc0::3e8c", 'multiple :: in address (at ":3e8c")'),
        ("fe80:1cc0:3e8c:119f:c2e1:217a::93ad:7b6f", "the :: must expand to at least one field of zeros"),
        ("fe80:tail", 'each colon-separated field must have at least one digit (at "tail")'),
        ("fe80:12345::", 'IPv6 field has value >=2^16 (at "12345::")'),
        (
            "fe80:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
        ),
        ("fe80:", 'colon must be followed by more characters (at ":")'),
        ("fe80::1$", 'unexpected character, want colon (at "$")'),
    ],
)
def test_error_of_an_unreadable_address_has_its_place(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        netip.parse(text)
    assert str(refused.value) == why
    assert not isinstance(refused.value, netip.NotAllowed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:10.0.0.1", 'IPv4-mapped IPv6 address "::ffff:10.0.0.1" is not allowed'),
    ],
)
def test_valid_address_of_another_kind_is_not_allowed(text: str, why: str) -> None:
    with pytest.raises(netip.NotAllowed) as refused:
        netip.parse(text)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("192.168.0.0", "no '/'"),
        ("1.257.1.1/24", 'ParseAddr("1.257.1.1"): IPv4 field has value >255'),
        ("1.1.1.0/q", 'bad bits after slash: "q"'),
        ("1.1.1.0/-1", 'bad bits after slash: "-1"'),
        ("1.1.1.0/032", 'bad bits after slash: "032"'),
        ("1.1.1.0/33", "prefix length out of range"),
        ("2001::/129", "prefix length out of range"),
        ("1.1.1.0%a/24", 'ParseAddr("1.1.1.0%a"): unexpected character (at "%a")'),
        ("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("::ffff:1.2.3.4/96", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/96" is not allowed'),
    ],
)
def test_error_of_an_unreadable_prefix_has_its_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        netip.parse_prefix(text)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("text", "address", "bits"), [("10.1.2.3/8", "10.1.2.3", 8), ("::/0", "::", 0), ("::1/128", "::1", 128)]
)
def test_prefix_keeps_the_bits_of_its_host(text: str, address: str, bits: int) -> None:
    found, length = netip.parse_prefix(text)
    assert (str(found), length) == (address, bits)
