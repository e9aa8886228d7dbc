"""The blocks of pod addresses of one range, and the nodes that have them. Pure.

The next block follows the last one given out, around the end of the range, so that a released block is used
again as late as possible. A block may have several holders: clients can write the same ``spec.podCIDR`` into
two nodes, and the deletion of one must not free the block of the other. Upstream:
``pkg/controller/nodeipam/ipam/cidrset``.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network

from podling.machinery.histograms import Histogram
from podling.machinery.network_ranges import Network

PREFERRED_ANNOTATION = "podling.dev/preferred-pod-cidrs"
"""On a Node: the blocks that its machine would like, separated by commas. They overlap none of the
machine's own routes, which the controller cannot see."""


class RangeFull(Exception):
    """No block of the range is free."""


class PodBlocks:
    """The blocks with ``prefix`` of ``pool``, by their number in it."""

    def __init__(self, pool: Network, prefix: int) -> None:
        self.pool = pool
        self._prefix = prefix
        self.count = 1 << (prefix - pool.prefixlen)
        """So many blocks the range has."""
        self.taken = self.released = 0
        """Counts of the blocks that were given out or found in use, and of those that became free."""
        self.tries = Histogram((1, 5, 25, 125, 625))
        """Blocks in use that were passed over to find a free one."""
        self._holders: dict[int, set[str]] = {}
        self._next = 0

    def occupy(self, holder: str, block: Network) -> bool:
        """Record that ``holder`` has every block that overlaps ``block``; return whether any does."""
        numbers = self._numbers(block)
        for number in numbers:
            self._hold(number, holder)
        return bool(numbers)

    def release(self, holder: str) -> None:
        """Free every block that ``holder`` alone has."""
        for number in [number for number, held in self._holders.items() if holder in held]:
            self._holders[number].discard(holder)
            if not self._holders[number]:
                del self._holders[number]
                self.released += 1

    @property
    def used(self) -> float:
        """Return which part of the blocks is in use."""
        return len(self._holders) / self.count

    def take(self, holder: str, preferred: Iterable[Network]) -> Network:
        """Give ``holder`` the first of its ``preferred`` blocks that is free, else the next free one.

        Raises ``RangeFull``.
        """
        wishes = (self._numbers(block) for block in preferred if block.prefixlen == self._prefix)
        number = next((wish[0] for wish in wishes if wish and wish[0] not in self._holders), None)
        if number is None or number == self._next:
            number = self._next_free()
            self._next = (number + 1) % self.count
        self._hold(number, holder)
        return self._block(number)

    def _hold(self, number: int, holder: str) -> None:
        self.taken += number not in self._holders
        self._holders.setdefault(number, set()).add(holder)

    def _next_free(self) -> int:
        for offset in range(self.count):
            number = (self._next + offset) % self.count
            if number not in self._holders:
                self.tries.observe(offset)
                return number
        raise RangeFull(f"no /{self._prefix} of {self.pool} is free")

    def _numbers(self, block: Network) -> range:
        """Return the numbers of the blocks of this range that overlap ``block``."""
        if block.version != self.pool.version or not _overlap(block, self.pool):
            return range(0)
        step = self._shift
        base = int(self.pool.network_address)
        first = max(int(block.network_address) - base, 0) >> step
        last = min(int(block.broadcast_address), int(self.pool.broadcast_address)) - base >> step
        return range(first, last + 1)

    @property
    def _shift(self) -> int:
        return self.pool.max_prefixlen - self._prefix

    def _block(self, number: int) -> Network:
        address = int(self.pool.network_address) + (number << self._shift)
        return type(self.pool)((address, self._prefix))


def parse_blocks(texts: Iterable[str]) -> list[Network]:
    """Return the networks among ``texts``; what is none is left out."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text.strip()))
        except ValueError:
            continue
    return found


def _overlap(one: Network, other: Network) -> bool:
    if isinstance(one, IPv4Network):
        return isinstance(other, IPv4Network) and one.overlaps(other)
    return isinstance(other, IPv6Network) and one.overlaps(other)
