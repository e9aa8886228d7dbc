"""The blocks of pod addresses that the cluster assigned to this node, remembered for the next start.

A node that was assigned blocks once starts pods without the API server. A new node waits a moment: its first
pods would otherwise get addresses that the controller may give to another node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from podling import clock
from podling.network.blocks import Blocks
from podling.runtime.base import RuntimeFailure

WAIT_SECONDS = 10.0
"""The time that the start of a pod waits for an assignment. The kubelet tries again after a failure."""


def parse_blocks(texts: Iterable[str]) -> Blocks | None:
    """Return the first block of each family among ``texts``; None without one of IPv4. Pure."""
    first: IPv4Network | None = None
    second: IPv6Network | None = None
    for text in texts:
        with suppress(ValueError):
            first = first or IPv4Network(text)
        with suppress(ValueError):
            second = second or IPv6Network(text)
    return None if first is None else Blocks(first, second)


def agree(assigned: Blocks, own: Blocks) -> bool:
    """Return whether the blocks are the same in the families that both have. Pure."""
    return assigned.ipv4 == own.ipv4 and (not assigned.ipv6 or not own.ipv6 or assigned.ipv6 == own.ipv6)


class Assignment:
    """``spec.podCIDRs`` of the node, kept in ``file``.

    Args:
        needed: a controller assigns blocks, so no pod gets an address before it did.
    """

    def __init__(self, file: Path, *, needed: bool) -> None:
        self._file = file
        self._needed = needed
        self._known = asyncio.Event()
        self.blocks: Blocks | None = None

    def load(self) -> None:
        """Read the blocks of an earlier run, if it had any. Raises ``OSError``.

        A file that was cut off while it was written counts for nothing: the API says the blocks again.
        """
        with suppress(FileNotFoundError):
            text = self._file.read_text()
            self.blocks = parse_blocks(text.split()) if text.endswith("\n") else None

    def announce(self, blocks: Blocks) -> None:
        """Take in the blocks that the API says, for the pods that wait for them."""
        self.blocks = blocks
        self._known.set()

    def save(self) -> None:
        """Keep the blocks for the next start. Raises ``OSError``."""
        if self.blocks is not None:
            self._file.write_text(f"{_text(self.blocks)}\n")

    def forget(self) -> None:
        """Remove the record. Raises ``OSError``."""
        self._file.unlink(missing_ok=True)

    async def wait(self) -> None:
        """Wait until blocks are known, if any are needed. Raises ``RuntimeFailure`` after a while."""
        if not self._needed or self.blocks is not None:
            return
        await clock.wait_for(self._known, WAIT_SECONDS)
        if self.blocks is None:
            raise RuntimeFailure("the node has no block of pod addresses yet: its spec.podCIDRs are empty")

    def check(self, own: Blocks) -> None:
        """Raise ``RuntimeFailure`` while the node's pods have addresses of other blocks than assigned."""
        if self.blocks is not None and not agree(self.blocks, own):
            raise RuntimeFailure(
                f"the node's spec.podCIDRs are {_text(self.blocks)}, but pods still have addresses of "
                f"{_text(own)}; new pods start when those have ended"
            )


def _text(blocks: Blocks) -> str:
    return " ".join(str(block) for block in (blocks.ipv4, blocks.ipv6) if block is not None)
