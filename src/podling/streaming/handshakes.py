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

C = TypeVar("C", bound=Hashable)


class HandshakeQueue(Generic[C]):
    """Connections whose handshakes are to begin: first come, first served in each address."""

    def __init__(self) -> None:
        self._by_peer: dict[str, dict[C, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_peer.values()))

    def add(self, peer: str, connection: C) -> None:
        self._by_peer.setdefault(peer, {})[connection] = None

    def discard(self, peer: str, connection: C) -> None:
        own = self._by_peer.get(peer)
        if own is not None and connection in own:
            del own[connection]
            if not own:
                del self._by_peer[peer]

    def take(self) -> C | None:
        """Remove and return the first connection of the next address; None when there is none."""
        if not self._by_peer:
            return None
        peer = next(iter(self._by_peer))
        own = self._by_peer.pop(peer)
        connection = next(iter(own))
        del own[connection]
        if own:
            self._by_peer[peer] = own  # behind the other addresses
        return connection
