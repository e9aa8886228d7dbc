"""Addresses of Services and endpoints as packets carry them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from podling.api.networking_v1 import ServiceCIDR

FAMILIES = ("ip", "ip6")
PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}
_PORT_BYTES = 2


def packed(address: str, family: str) -> bytes | None:
    """Return an address of ``family`` as bytes; None for one of the other family, or none at all."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return found.packed if family_of(found.version) == family else None


def family_of(version: int) -> str:
    return "ip" if version == 4 else "ip6"


def target(address: bytes, port: int) -> bytes:
    """Return address and port as one value."""
    return address + port.to_bytes(_PORT_BYTES, "big")


def address_of(value: bytes) -> bytes:
    return value[:-_PORT_BYTES]


def in_name(value: bytes) -> str:
    """Return a target as a part of a chain's name, which has no colons: ``10.0.0.1/80``, ``fd00..1/80``."""
    address = str(ip_address(address_of(value)))
    return f"{address.replace(':', '.')}/{int.from_bytes(value[-_PORT_BYTES:], 'big')}"


def network(text: str, family: str) -> IPv4Network | IPv6Network | None:
    """Return a range of addresses of ``family``. Validation lets blanks through, so they are removed."""
    try:
        found = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return found if family_of(found.version) == family else None


def service_ranges(found: Iterable[ServiceCIDR], family: str) -> tuple[str, ...]:
    """Return the ranges of one family from which Services get addresses."""
    texts = {text for each in found for text in each.spec.cidrs}
    ranges = (network(text, family) for text in sorted(texts))
    return tuple(str(each) for each in ranges if each is not None)
