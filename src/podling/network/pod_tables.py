"""The nftables rules of one node's pods: address translation, host ports, refusal of forged addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network

from podling.network import firewall, guard, ipv6
from podling.network.blocks import Blocks
from podling.network.generation import generation
from podling.network.leases import Lease
from podling.network.names import Names
from podling.runtime.base import RuntimeFailure

Signs = tuple[int, str]
"""The generation of the machine's rules, and its legacy tables: equal as long as nothing has changed."""


def read_signs() -> Signs:
    """Return the present signs of changes. Blocking; raises ``OSError``."""
    return generation(), firewall.legacy_tables()


class PodTables:
    """Writes the tables, and finds what another program changed in them.

    Args:
        names: the node's bridge and table.
        owner: the cluster, named in the table.
        pool: the cluster's IPv4 pod addresses.
        second_pool: its IPv6 pod addresses; None for IPv4 alone.
    """

    def __init__(self, names: Names, owner: str, pool: IPv4Network, second_pool: IPv6Network | None) -> None:
        self._names = names
        self._owner = owner
        self._pool = pool
        self._second_pool = second_pool
        self._writing = asyncio.Lock()
        self._signs: Signs = (0, "")
        """Those of the time of the listing."""
        self._listing = ""

    async def write_all(self, blocks: Blocks, leases: Sequence[Lease]) -> None:
        """Write every rule, and let the machine forward the pods' packets. Raises ``RuntimeFailure``."""
        await self.write(blocks, leases, guard.ruleset(self._names.table, self._owner, blocks))
        await self._open_forwarding(blocks)

    async def write(self, blocks: Blocks, leases: Sequence[Lease], also: str = "") -> None:
        """Write the rules of address translation and host ports, with ``also`` in the same transaction.

        Raises ``RuntimeFailure``.
        """
        async with self._writing:
            self._listing = ""
            names = self._names
            rules = firewall.ruleset(names.table, names.bridge, self._pool, blocks.ipv4, leases)
            if blocks.ipv6 is not None and self._second_pool is not None:
                rules += firewall.ruleset(names.table, names.bridge, self._second_pool, blocks.ipv6, leases)
            elif also and ipv6.is_supported():  # an earlier run may have had both families
                rules += firewall.removal(names.table, "ip6")
            await firewall.apply(also + rules)

    async def find_damage(self, blocks: Blocks, signs: Signs) -> str:
        """Return what is wrong with the tables; empty when nothing is.

        They are listed only after some program changed any rule of the machine. Raises ``OSError`` and
        ``RuntimeFailure`` when the rules cannot be read.

        Args:
            signs: what ``read_signs`` has just returned.
        """
        if self._writing.locked():
            return ""
        async with self._writing:
            if self._listing and signs == self._signs:
                return ""
            try:
                listing = await firewall.listing(self._names.table, blocks)
            except RuntimeFailure as error:
                return f"the nftables table {self._names.table} is missing: {str(error).splitlines()[0]}"
            if self._listing and listing != self._listing:
                return f"the nftables table {self._names.table} was changed"
            self._signs, self._listing = signs, listing
            await self._open_forwarding(blocks)
            return ""

    async def _open_forwarding(self, blocks: Blocks) -> None:
        for version in (4, 6) if blocks.ipv6 is not None else (4,):
            await firewall.open_forwarding(self._names.bridge, version)
