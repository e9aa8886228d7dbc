"""One of the proxy's tables in the kernel, kept as it should be.

``put`` carries a change out, ``restore`` compares the whole table and mends what differs. A change that the
kernel refuses, because another program changed the table, is followed by such a comparison.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial

from podling.client.base import Key
from podling.network import firewall
from podling.network.nftables.kernel import Kernel
from podling.network.services import base_rules, kernel_state, messages
from podling.network.services.base_rules import Place
from podling.network.services.rule_table import RuleTable, TableState, Transaction
from podling.network.services.rules import ServiceRules
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci.threads import in_thread, wait_for_end

logger = logging.getLogger(__name__)


class KernelTable:
    """The table at ``place``: what it should hold, and the way there."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.rules = RuleTable()
        self._base = {chain.name: chain.comments() for chain in base_rules.chains(place)}
        self._stale: set[str] = set()
        self._kernel: Kernel | None = None
        self._writing = asyncio.Lock()
        self.is_known = False
        """True after a comparison with the kernel, until the fixed part changes."""

    def move(self, place: Place) -> None:
        """Give the table another fixed part; the next change writes it."""
        self.place = place
        self._base = {chain.name: chain.comments() for chain in base_rules.chains(place)}
        self.is_known = False

    def owns(self, number: int) -> bool:
        """Return whether the socket of this number is the one that writes this table."""
        return self._kernel is not None and self._kernel.number == number

    async def close(self) -> None:
        """Let go of the table, which stays as it is."""
        async with self._writing:
            kernel, self._kernel = self._kernel, None
            if kernel is not None:
                kernel.close()

    async def put(self, changes: Mapping[Key, ServiceRules]) -> None:
        """Give Services other rules. Raises ``RuntimeFailure`` if the kernel holds something else then."""
        async with self._writing:
            transaction = self.rules.put(changes)
            if not self.is_known:  # the table of the last run, or none
                await self._restore()
                return
            if not transaction:
                return
            try:
                await in_thread(lambda: self._commit(transaction), undo=wait_for_end)
            except OSError as error:
                logger.warning("a change of %s was refused: %s", self.place.table, error)
                await self._restore()

    async def restore(self) -> str:
        """Make the table hold what it should; return what was wrong with it, empty if nothing was.

        Connections and remembered clients are kept. Raises ``RuntimeFailure``.
        """
        async with self._writing:
            return await self._restore()

    async def _restore(self) -> str:
        try:
            try:
                wrong = await self._mend()
            except (OSError, RuntimeFailure) as error:  # something of the same name is of another kind
                logger.warning("%s is made anew: %s", self.place.table, error)
                await firewall.apply(base_rules.removal_text((self.place.family,), self.place.table))
                wrong = await self._mend()
        except OSError as error:
            message = f"the nftables table {self.place.table} cannot be written: {error}"
            raise RuntimeFailure(message) from error
        self.is_known = True
        return wrong

    async def _mend(self) -> str:
        """Write what differs from what should be there; return what was wrong."""
        held = await in_thread(self._read)
        wrong = self._wrong_base(held)
        if wrong:
            await firewall.apply(base_rules.base_text(self.place))
            held = await in_thread(self._read)
        transaction = self.rules.difference(self._services_of(held))
        if transaction:
            wrong = wrong or _described(transaction, self.place.table)
            for part in transaction.in_parts(held.chains):
                await in_thread(partial(self._commit, part), undo=wait_for_end)
        return wrong

    def _wrong_base(self, held: TableState) -> str:
        """Return what is wrong with the fixed part of the table."""
        if not held.chains:
            return f"the nftables table {self.place.table} was missing"
        if any(held.chains.get(name) != comments for name, comments in self._base.items()):
            return f"the nftables table {self.place.table} was changed"
        return ""

    def _services_of(self, held: TableState) -> TableState:
        """Return the part of a table that depends on Services."""
        chains = {
            name: rules
            for name, rules in held.chains.items()
            if name not in self._base and not (name in self._stale and not rules)
        }
        return TableState(chains, held.elements, held.memories)

    # ---- in a thread

    def _opened(self) -> Kernel:
        if self._kernel is None:
            self._kernel = Kernel()
        return self._kernel

    def _read(self) -> TableState:
        return kernel_state.read(self._opened(), self.place.family, self.place.table)

    def _commit(self, transaction: Transaction) -> None:
        place = self.place
        kernel = self._opened()
        kernel.commit(messages.batch_of(place.family, place.table, transaction))
        self._stale -= set(transaction.write_chains)
        self._stale |= transaction.drop_chains
        self._delete_stale(kernel)

    def _delete_stale(self, kernel: Kernel) -> None:
        """Delete unused chains. Those that the kernel still counts as used stay until the next change."""
        place = self.place
        for name in sorted(self._stale):
            try:
                kernel.commit(messages.deletion_of(place.family, place.table, [name]))
            except FileNotFoundError:
                pass
            except OSError:
                continue
            self._stale.discard(name)


def _described(transaction: Transaction, table: str) -> str:
    changed = (
        len(transaction.write_chains)
        + len(transaction.drop_chains)
        + len(transaction.add_elements)
        + len(transaction.drop_elements)
        + len(transaction.add_memories)
    )
    return f"the nftables table {table} was changed: {changed} chains and elements differed"
