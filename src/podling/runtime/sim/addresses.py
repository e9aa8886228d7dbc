"""The addresses of simulated pods."""

from __future__ import annotations

from ipaddress import ip_network

from podling.runtime.base import RuntimeFailure


class Addresses:
    """Pod addresses in order, each after the last one given out, as CNI's host-local does it."""

    def __init__(self, cidr: str) -> None:
        network = ip_network(cidr)
        self._network = network
        self._hosts = max(0, network.num_addresses - 3)  # without the network, gateway and broadcast
        self._taken: dict[str, int] = {}
        self._used: set[int] = set()
        self._last = -1

    def take(self, sandbox_id: str) -> str:
        if len(self._used) >= self._hosts:
            raise RuntimeFailure(f"no IP addresses available in range {self._network}")
        while True:
            self._last = (self._last + 1) % self._hosts
            if self._last not in self._used:
                break
        self._used.add(self._last)
        self._taken[sandbox_id] = self._last
        return str(self._network[self._last + 2])

    def give_back(self, sandbox_id: str) -> None:
        self._used.discard(self._taken.pop(sandbox_id, -1))
