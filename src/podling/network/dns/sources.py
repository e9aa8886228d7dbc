"""The clients that get answers: the pods and the node itself.

A machine beside the node could route packets to the bridge, and gets none.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import ip_address, ip_network

KNOWN_MAX = 65536


class Sources:
    """Decides by address, and remembers it.

    Args:
        networks: the ranges of pods' addresses.
    """

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(each) for each in networks]
        self.known: dict[str, bool] = {}

    def allows(self, ip: str) -> bool:
        """Return whether questions from this address are answered."""
        found = self.known.get(ip)
        if found is None:
            if len(self.known) >= KNOWN_MAX:
                self.known.clear()
            found = self.known[ip] = _is_own_address(ip) or self._is_pod(ip)
        return found

    def _is_pod(self, ip: str) -> bool:
        address = ip_address(ip.partition("%")[0])
        return any(address in network for network in self._networks)


def _is_own_address(ip: str) -> bool:
    """Return whether this machine has the address: only then it can be bound to."""
    host = ip.partition("%")[0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True
