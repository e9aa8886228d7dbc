"""The machine's name and address, from which its nodes are named."""

from __future__ import annotations

import platform
import socket


def node_names(count: int) -> list[str]:
    """Return the names of a process' nodes: the machine's own, then numbered ones."""
    first = platform.node().lower() or "localhost"
    return [first, *(f"{first}-{number}" for number in range(2, count + 1))][:count]


def primary_address() -> str:
    """Return the machine's address on its default route, or loopback without a route.

    Connecting a datagram socket sends nothing; it only looks up the route.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address
