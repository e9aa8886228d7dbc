"""The addresses of Services, each of which one Service at a time may have.

Ranges come from ServiceCIDRs, so they come and go; the pool keeps nothing but the addresses of requests whose
Service is not stored yet. Of each range the lowest addresses are left for Services that name theirs.

Upstream: ``pkg/registry/core/service/ipallocator`` (``NewIPAllocator``, ``calculateRangeOffset``,
``allocateNextService``, ``PrefixContainsIP``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from podling import ids
from podling.apiserver.registry.number_pool import RANDOM_TRIES, static_band
from podling.machinery.network_ranges import Network

Address = IPv4Address | IPv6Address
IsUsed = Callable[[Address], bool]
"""Return whether a stored object has the address."""


class AddressPool:
    """The addresses that requests hold which are not stored yet."""

    def __init__(self) -> None:
        self._holders: dict[Address, Hashable] = {}

    def draw(self, holder: Hashable, network: Network, is_used: IsUsed) -> Address | None:
        """Reserve a free address of a range; None if there is none."""
        for first, count in bands(network):
            found = self._random(network, first, count, is_used)
            if found is not None:
                self._holders[found] = holder
                return found
        return None

    def take(self, holder: Hashable, address: Address, is_used: IsUsed) -> bool:
        """Reserve just this address; return False if it is used or held by another."""
        if is_used(address) or self._holders.get(address, holder) != holder:
            return False
        self._holders[address] = holder
        return True

    def release(self, holder: Hashable) -> None:
        """Free all that ``holder`` has reserved."""
        for address in [address for address, each in self._holders.items() if each == holder]:
            del self._holders[address]

    def _random(self, network: Network, first: int, count: int, is_used: IsUsed) -> Address | None:
        kind = type(network.network_address)
        for number in _order(count):
            address = kind(first + number)
            if address not in self._holders and not is_used(address):
                return address
        return None


def _order(count: int) -> Iterator[int]:
    """Yield some random numbers below ``count``, then all of them."""
    for _ in range(RANDOM_TRIES if count else 0):
        yield ids.below(count)
    yield from range(count)


def bands(network: Network) -> Iterator[tuple[int, int]]:
    """Yield the first address and the length of the bands of a range, in the order in which they are used:
    the addresses for Services that name none, then those that are left for the others."""
    first = int(network.network_address) + 1
    # IPv4 has a broadcast address; the last address of an IPv6 network is like any other.
    count = max(0, network.num_addresses - (2 if network.version == 4 else 1))
    static = min(static_band(network.num_addresses, step=16, most=256), count)
    yield first + static, count - static
    if static:
        yield first, static


def can_have(network: Network, address: Address) -> bool:
    """Return whether a Service can have an address of a range: all but the network's own and broadcast."""
    if address.version != network.version or address not in network:
        return False
    return address != network.network_address and (
        network.version == 6 or address != network.broadcast_address
    )


def parse_address(text: str | None) -> Address | None:
    """Return a stored address, None for ``None`` (headless), an empty text, or a damaged one."""
    if not text or text == "None":
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None
