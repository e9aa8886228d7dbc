"""The blocks of pod addresses of one node: IPv4, and IPv6 where the cluster has both families. Pure.

A pod's IPv6 address has the same place in its block as its IPv4 address, so that one lease stands for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from msgspec import Struct

from podling.machinery.node_masks import NODE_PREFIX
from podling.runtime.base import RuntimeFailure

_FIRST_POD = 2


class Blocks(Struct, frozen=True):
    """The blocks of one node. The first address of each is the node's own: the pods' gateway."""

    ipv4: IPv4Network
    ipv6: IPv6Network | None = None

    @property
    def gateway(self) -> IPv4Address:
        return self.ipv4.network_address + 1

    @property
    def gateway6(self) -> IPv6Address | None:
        return None if self.ipv6 is None else self.ipv6.network_address + 1

    def second(self, address: IPv4Address) -> IPv6Address | None:
        """Return the IPv6 address of the pod with an IPv4 address; None with one family."""
        if self.ipv6 is None:
            return None
        return self.ipv6.network_address + (int(address) - int(self.ipv4.network_address))

    def pod_addresses(self) -> list[IPv4Address]:
        """Return every IPv4 address that a pod can have."""
        return [self.ipv4[number] for number in range(_FIRST_POD, self.ipv4.num_addresses - 1)]


def choose_second(
    pool: IPv6Network,
    first_pool: IPv4Network,
    first: IPv4Network,
    taken: Iterable[IPv6Network],
    prefix: int = NODE_PREFIX[6],
) -> IPv6Network:
    """Return the IPv6 block, with ``prefix``, of a node with the IPv4 block ``first``.

    It is the one of the same number in its pool, else the first free one. Raises ``RuntimeFailure``. The
    number is taken from the IPv4 block, because nodes on other machines choose without seeing this one.
    """
    used = list(taken)
    size = 1 << (pool.max_prefixlen - prefix)
    base, count = int(pool.network_address), pool.num_addresses // size
    number = (int(first.network_address) - int(first_pool.network_address)) // first.num_addresses
    preferred = [number] if 0 <= number < count else []
    for each in (*preferred, *range(count)):
        block = IPv6Network((base + each * size, prefix))
        if not any(block.overlaps(other) for other in used):
            return block
    raise RuntimeFailure(f"no free /{prefix} is left in the pod network {pool}")
