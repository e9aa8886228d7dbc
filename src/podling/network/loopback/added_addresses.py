"""Addresses of Services on the machine's loopback interface, which only root can add.

A file names the added addresses, so that they are found again after a sudden end. Blocking: methods run in
a thread or before the loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink

_INTERFACE = "lo"


class AddedAddresses:
    """The addresses that one node added; ``file`` is its record of them."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @staticmethod
    def are_possible() -> bool:
        return sys.platform == "linux" and os.geteuid() == 0

    def hold(self, wanted: Iterable[str]) -> None:
        """Add the addresses in ``wanted`` and remove earlier ones. Raises ``OSError``."""
        addresses = set(wanted)
        recorded = self._recorded()
        if addresses - recorded:
            # First the record: an address without one would stay for ever.
            self._record(addresses | recorded)
        with Netlink() as kernel:
            index = interfaces.index_of(_INTERFACE)
            for address in sorted(addresses):
                packed = ip_address(address).packed
                scope = links.SCOPE_HOST
                kernel.request([links.add_address(index, packed, len(packed) * 8, scope=scope)])
            for address in sorted(recorded - addresses):
                packed = ip_address(address).packed
                with suppress(OSError):  # another program removed it
                    kernel.request([links.delete_address(index, packed, len(packed) * 8)])
        if recorded != addresses:
            self._record(addresses)

    def remove(self) -> None:
        """Remove every address that this node added. Raises ``OSError``."""
        if self._file.exists():
            self.hold(())
            self._file.unlink(missing_ok=True)

    def _recorded(self) -> set[str]:
        try:
            return set(self._file.read_text().split())
        except FileNotFoundError:
            return set()

    def _record(self, addresses: set[str]) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text("".join(f"{address}\n" for address in sorted(addresses)))
        fresh.replace(self._file)
