"""The order in which TLS handshakes begin: by turns of the clients' addresses, few in each turn of the loop.

A handshake costs about a millisecond of the processor, half of it in one piece. Clients that reconnect
without end would otherwise hold the event loop for as long as all of their handshakes take together. A
connection waits here only once its client has sent something, so a silent client takes no place of others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

BEGUN_AT_ONCE = 4
"""Handshakes begun in one turn of the event loop, of all addresses together."""
IN_PROGRESS_MAX = 16
"""Handshakes of one address in progress: their clients answer, and send their requests, at the same time."""
SLOW_SECONDS = 0.25
"""A handshake that takes longer counts no more: its client is slow or silent."""

C = TypeVar("C", bound=Hashable)


class HandshakeQueue(Generic[C]):
    """Connections whose handshakes are to begin: first come, first served in each address."""

    def __init__(self) -> None:
        self._ready: dict[str, dict[C, None]] = {}
        """The connections by address, in the order of the addresses' turns."""
        self._held: dict[str, dict[C, None]] = {}
        """The same of addresses that have too many handshakes in progress."""
        self._in_progress: dict[str, int] = {}

    def __bool__(self) -> bool:
        """Return whether a handshake can begin now."""
        return bool(self._ready)

    def add(self, peer: str, connection: C) -> None:
        rows = self._held if self._is_full(peer) else self._ready
        rows.setdefault(peer, {})[connection] = None

    def discard(self, peer: str, connection: C) -> None:
        """Take a connection out that is not to begin any more."""
        for rows in (self._ready, self._held):
            own = rows.get(peer)
            if own is not None and connection in own:
                del own[connection]
                if not own:
                    del rows[peer]

    def take(self) -> C | None:
        """Remove and return the first connection of the next address; None when there is none.

        Its handshake is in progress until ``end``.
        """
        if not self._ready:
            return None
        peer = next(iter(self._ready))
        own = self._ready.pop(peer)
        connection = next(iter(own))
        del own[connection]
        self._in_progress[peer] = self._in_progress.get(peer, 0) + 1
        if own:
            rows = self._held if self._is_full(peer) else self._ready
            rows[peer] = own  # behind the other addresses
        return connection

    def end(self, peer: str) -> None:
        """Note that a handshake of ``peer`` is over, or counts no more."""
        left = self._in_progress[peer] - 1
        if left:
            self._in_progress[peer] = left
        else:
            del self._in_progress[peer]
        own = self._held.pop(peer, None)
        if own is not None:
            self._ready[peer] = own

    def _is_full(self, peer: str) -> bool:
        return self._in_progress.get(peer, 0) >= IN_PROGRESS_MAX
