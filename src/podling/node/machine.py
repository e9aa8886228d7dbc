"""The machine's name and addresses, from which its nodes have theirs."""

from __future__ import annotations

import platform
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from podling.kubelet.node.machine import primary_address
from podling.machinery.network_ranges import Network


def node_names(count: int, override: str = "") -> list[str]:
    """Return the names of a process' nodes: ``override`` or the machine's own, then numbered ones."""
    first = (override or platform.node()).lower() or "localhost"
    return [first, *(f"{first}-{number}" for number in range(2, count + 1))][:count]


def second_address() -> str:
    """Return the machine's IPv6 address on its default route; empty without a route or a global address."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("2001:db8::1", 9))
        except OSError:
            return ""
        found = ip_address(str(probe.getsockname()[0]).partition("%")[0])
    return "" if found.is_link_local or found.is_loopback else str(found)


def node_addresses(pods: Sequence[Network], chosen: str = "", known: str = "") -> tuple[str, ...]:
    """Return the addresses of this machine's nodes, the primary one first.

    They are those chosen by ``--node-ip``; else the machine's IPv4 address, with its IPv6 address where pods
    have such addresses. The first range of pods says which family comes first, unless ``chosen`` does: ``::``
    prefers the machine's IPv6 address, ``0.0.0.0`` its IPv4 address. ``known`` is an address that other
    machines reach, which its family then has.
    """
    addresses = _parsed(chosen) if chosen else []
    preferred = addresses[0].version if any(each.is_unspecified for each in addresses) else 0
    if chosen and not preferred:
        return tuple(str(each) for each in addresses)
    has_both = any(block.version == 6 for block in pods) and socket.has_ipv6
    if ":" in known and not has_both and preferred != 4:
        return (known,)
    first = known if known and ":" not in known else primary_address()
    second = (known if ":" in known else second_address()) if has_both or preferred == 6 else ""
    if not second:
        return (first,)
    if not has_both:
        return (second,)
    return (second, first) if (preferred or pods[0].version) == 6 else (first, second)


def node_ip_problem(chosen: str) -> str:
    """Return why ``--node-ip`` cannot hold, as the kubelet puts it (``validateNodeIP``); empty if it can."""
    try:
        addresses = _parsed(chosen)
    except ValueError:
        return f'invalid --node-ip "{chosen}": it names an IP address, or two of different families'
    if len(addresses) > 2 or len({each.version for each in addresses}) < len(addresses):
        return f'invalid --node-ip "{chosen}": must contain either a single IP or a dual-stack pair of IPs'
    if any(each.is_unspecified for each in addresses):
        # One such address prefers its family, as nodestatus.NodeAddress reads it.
        text = "dual-stack node IP cannot include '0.0.0.0' or '::'"
        return f'invalid --node-ip "{chosen}": {text}' if len(addresses) == 2 else ""
    for each in addresses:
        kinds = {
            "loopback address": each.is_loopback,
            "a multicast address": each.is_multicast,
            "a link-local unicast address": each.is_link_local,
        }
        for kind, applies in kinds.items():
            if applies:
                return f"--node-ip {each} can't be {kind}"
        if not _is_own(str(each)):
            return f'node IP: "{each}" not found in the host\'s network interfaces'
    return ""


def _parsed(chosen: str) -> list[IPv4Address | IPv6Address]:
    """Return the addresses of ``--node-ip``, with IPv4 addresses in their own form. Raises ``ValueError``."""
    found = [ip_address(each.strip()) for each in chosen.split(",")]
    return [(each.ipv4_mapped or each) if isinstance(each, IPv6Address) else each for each in found]


def _is_own(address: str) -> bool:
    """Return whether an address belongs to this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
