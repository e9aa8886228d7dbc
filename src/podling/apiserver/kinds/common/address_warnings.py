"""Warnings about IP addresses and CIDRs that are valid, but that other programs may parse differently.

Upstream: ``GetWarningsForIP`` and ``GetWarningsForCIDR`` in ``apimachinery/pkg/util/validation/ip.go``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from podling.machinery import names
from podling.machinery.fields import Path

_LATER = "will be considered invalid in a future Kubernetes release: use"
_MAPPED_BITS = 96
"""The number of bits before the IPv4 address in an IPv4-mapped IPv6 address."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def ip_warnings(path: Path, value: str) -> list[str]:
    """Return the warnings about an address; none for an invalid one, which is an error elsewhere."""
    parsed = names.parse_ip(value)
    if parsed is None:
        return []
    if names.ip_errors(value):
        return [f'{path}: non-standard IP address "{value}" {_LATER} "{_unmap(parsed)}"']
    if parsed.version == 6 and str(parsed) != value:
        return [f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{parsed}")']
    return []


def load_balancer_warnings(addresses: Iterable[str | None]) -> list[str]:
    """Return the warnings about the load balancer addresses in a Service's or Ingress' status."""
    path = Path("status.loadBalancer.ingress")
    return [
        text
        for position, address in enumerate(addresses)
        for text in ip_warnings(path.index(position).child("ip"), address or "")
    ]


def cidr_warnings(path: Path, value: str) -> list[str]:
    parsed = names.parse_cidr(value)
    if parsed is None:
        return []
    first, length = parsed.network.network_address, parsed.network.prefixlen
    mapped = _unmap(first) is not first
    block = f"{_unmap(first)}/{max(0, length - _MAPPED_BITS) if mapped else length}"
    found: list[str] = []
    if parsed.ip != first:
        single = f"{_unmap(parsed.ip)}/{parsed.max_prefixlen}"
        choice = f'(should be "{block}" or "{single}"?)'
        found.append(f'{path}: CIDR value "{value}" is ambiguous in this context {choice}')
    if mapped or names.has_leading_zeros(value):
        found.append(f'{path}: non-standard CIDR value "{value}" {_LATER} "{block}"')
    if not found and parsed.version == 6 and block != value:
        found.append(f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{block}")')
    return found


def _unmap(address: Address) -> Address:
    """Return the IPv4 address that an IPv4-mapped IPv6 address contains; any other address unchanged."""
    return address if address.version == 4 else address.ipv4_mapped or address
