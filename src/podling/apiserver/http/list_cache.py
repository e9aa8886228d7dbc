"""Cache of short list answers, valid until the next write to the store.

Many clients send the same list request: dashboards poll, and after a restart all clients list at once. A list
contains the store's revision, so any write invalidates every cached list; they are dropped together.
"""

from __future__ import annotations

from podling.client.requests import Target

MAX_KEPT = 8
"""Number of cached lists; each is at most one piece of an answer (``representations.PIECE_BYTES``)."""


class KeptLists:
    """The bytes of whole lists, all as of one revision."""

    def __init__(self) -> None:
        self._revision = 0
        self._bodies: dict[Target, bytes] = {}

    def find(self, target: Target, revision: int) -> bytes | None:
        """Return the list of everything in ``target`` as of ``revision``, if it is kept."""
        return self._bodies.get(target) if revision == self._revision else None

    def keep(self, target: Target, revision: int, body: bytes) -> None:
        if revision != self._revision:
            self._bodies.clear()
            self._revision = revision
        if len(self._bodies) < MAX_KEPT:
            self._bodies[target] = body
