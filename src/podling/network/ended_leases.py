"""Ended leases: their addresses are withheld until the kernel tracks no connection of the pods that left.

Rules and translations know a connection by its addresses, so the next pod with an address must not inherit
one. The kernel looks through its whole table for each address, which takes milliseconds; the end of a pod
does not wait for that. The files of withheld leases stay, so the start after a crash finds them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address

from podling import clock
from podling.network.conntrack import Conntrack
from podling.network.leases import Lease, Leases
from podling.runtime.oci.threads import in_thread

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
_FULL_SECONDS = 1.0
"""The longest wait of a new pod for withheld addresses while all others are leased."""


class EndedLeases:
    """Ends leases of one node, and releases their addresses in the background."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._pending: list[Lease] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, lease: Lease) -> None:
        """End a lease, whose pod is disconnected already."""
        self._leases.withhold(lease.sandbox_id)
        self._pending.append(lease)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._release())

    async def settle(self) -> bool:
        """Wait a moment for withheld addresses; return whether there were any."""
        if self._task is None or self._task.done():
            return False
        await asyncio.wait([self._task], timeout=_FULL_SECONDS)
        return True

    async def close(self) -> None:
        """Stop. The next start releases what is withheld now."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _release(self) -> None:
        while self._pending:
            leases, self._pending = self._pending, []
            try:
                await in_thread(partial(forget_connections, leases))
            except OSError as error:
                logger.warning("connections of pods that ended cannot be forgotten yet: %s", error)
                self._pending = leases + self._pending
                await clock.sleep(RETRY_SECONDS)
                continue
            for lease in leases:
                self._leases.release(lease.address)


def forget_connections(leases: Sequence[Lease]) -> None:
    """Delete every tracked connection of these leases' addresses. Blocking. Raises ``OSError``."""
    with Conntrack() as kernel:
        for address in (ip_address(each) for lease in leases for each in lease.addresses):
            kernel.forget("ip" if address.version == 4 else "ip6", address.packed)
