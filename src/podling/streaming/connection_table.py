"""The connections that a server keeps when there are too many: plain decisions over numbers.

The kernel gives a new descriptor the lowest free number, so the number of a new connection shows how full
the process' table of descriptors is. The highest numbers stay free of connections, for the store, containers
and everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

TRIES = 64
"""Connections looked at to find an idle one."""


class Connection(Protocol):
    """A client's connection, from its acceptance on."""

    @property
    def peer(self) -> str:
        """The client's address."""
        ...

    @property
    def is_idle(self) -> bool:
        """True if no request is being served: the handshake or a request's head is not complete."""
        ...


C = TypeVar("C", bound=Connection)


class Limits(Struct, frozen=True):
    """The limits on one listener's connections. An idle one costs about 50 kB.

    Attributes:
        total: connections at the same time.
        per_peer: connections of one address.
        share: the part of the process' descriptors that connections may have, at most.
        reserve: the part that stays free for everything else. New connections may use half of it until idle
            ones, which are closed for them, have let go of theirs.
    """

    total: int = 4096
    per_peer: int = 2048
    share: float = 0.5
    reserve: float = 0.25


class Verdict(Enum):
    """The decision about a new connection."""

    KEEP = "keep"
    KEEP_FOR_IDLE = "keep it, and close an idle one"
    KEEP_FOR_IDLE_OF_PEER = "keep it, and close an idle one of the same peer"
    CLOSE = "close it"


def verdict(limits: Limits, *, descriptor: int, open_files: int, connections: int, of_peer: int) -> Verdict:
    """Decide about a new connection.

    Args:
        descriptor: the new connection's.
        open_files: the process' limit of descriptors.
        connections: how many there are without it.
        of_peer: how many of them are from the same address.
    """
    if descriptor >= open_files * (1 - limits.reserve / 2):
        return Verdict.CLOSE
    if of_peer >= limits.per_peer:
        return Verdict.KEEP_FOR_IDLE_OF_PEER
    full = connections >= min(limits.total, open_files * limits.share)
    if full or descriptor >= open_files * (1 - limits.reserve):
        return Verdict.KEEP_FOR_IDLE
    return Verdict.KEEP


class ConnectionTable(Generic[C]):
    """The connections of one listener, oldest first."""

    def __init__(self) -> None:
        self._all: dict[C, None] = {}
        self._by_peer: dict[str, dict[C, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[C]:
        return iter(tuple(self._all))

    def count_of(self, peer: str) -> int:
        return len(self._by_peer.get(peer, ()))

    def add(self, connection: C) -> None:
        self._all[connection] = None
        self._by_peer.setdefault(connection.peer, {})[connection] = None

    def discard(self, connection: C) -> None:
        if self._all.pop(connection, self) is not self:
            own = self._by_peer[connection.peer]
            del own[connection]
            if not own:
                del self._by_peer[connection.peer]

    def take_idle(self, peer: str | None = None) -> C | None:
        """Remove and return an idle connection, of ``peer`` if it is given; an old one if possible.

        A busy connection that is found on the way counts as new from then on, so that a long row of
        busy connections is not looked through again and again.
        """
        row = self._all if peer is None else self._by_peer.get(peer, {})
        for _ in range(min(TRIES, len(row))):
            connection = next(iter(row))
            if connection.is_idle:
                self.discard(connection)
                return connection
            del row[connection]
            row[connection] = None
        return None
