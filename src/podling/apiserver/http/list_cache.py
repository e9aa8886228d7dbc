"""Short lists as they were last sent, for as long as nothing is written.

Whoever lists does it beside others: dashboards ask again and again, and after a restart everybody comes back
at once and reads the same. A list names the store's revision, so any write makes every kept list worthless;
they are then let go of together.
"""

from __future__ import annotations

from podling.client.requests import Target

MAX_KEPT = 8
"""How many lists are kept; each is one piece of an answer at most (``representations.PIECE_BYTES``)."""


class KeptLists:
    """The bytes of whole lists, all as of one revision."""

    def __init__(self) -> None:
        self._revision = 0
        self._bodies: dict[Target, bytes] = {}

    def find(self, target: Target, revision: int) -> bytes | None:
        """The list of everything in ``target`` as of ``revision``, if it is kept."""
        return self._bodies.get(target) if revision == self._revision else None

    def keep(self, target: Target, revision: int, body: bytes) -> None:
        if revision != self._revision:
            self._bodies.clear()
            self._revision = revision
        if len(self._bodies) < MAX_KEPT:
            self._bodies[target] = body
