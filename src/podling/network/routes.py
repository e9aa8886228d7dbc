"""The networks that the machine has routes to, as /proc shows them."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from podling.machinery.network_ranges import Route

_IPV4 = Path("/proc/net/route")
_IPV6 = Path("/proc/net/ipv6_route")
_RTF_UP = 0x0001
_RTF_REJECT = 0x0200
_LINK_LOCAL = IPv6Network("fe80::/10")
_MULTICAST = IPv6Network("ff00::/8")


def parse_ipv4(text: str) -> list[Route]:
    """Return the routes of /proc/net/route, but for the default route."""
    found = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        destination, mask = (int.from_bytes(bytes.fromhex(fields[i]), "little") for i in (1, 7))
        if mask:
            found.append(Route(IPv4Network((destination, mask.bit_count())), fields[0]))
    return found


def parse_ipv6(text: str) -> list[Route]:
    """Return the routes of /proc/net/ipv6_route to networks and hosts of other machines or of this one.

    Default routes, refusals, and the networks that every interface has (link-local, multicast) are left out.
    """
    found = []
    for line in text.splitlines():
        fields = line.split()
        network = IPv6Network((IPv6Address(bytes.fromhex(fields[0])), int(fields[1], 16)))
        flags = int(fields[8], 16)
        if not network.prefixlen or flags & _RTF_REJECT or not flags & _RTF_UP:
            continue
        if fields[9] == "lo" or network.subnet_of(_LINK_LOCAL) or network.subnet_of(_MULTICAST):
            continue
        found.append(Route(network, fields[9]))
    return found


def machine_routes() -> list[Route]:
    """Return the machine's routes of both families. Raises ``OSError``."""
    found = parse_ipv4(_IPV4.read_text())
    if _IPV6.exists():
        found += parse_ipv6(_IPV6.read_text())
    return found
