"""Keys of objects that are read in order.

Keys come far more often than they are read: while a cluster fills, each pod's key enters several sets that
no controller reads meanwhile. So a new key waits, and finds its place when the keys are read next.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from podling.client.base import Key

INSERTED_AMONG = 16
"""New keys are inserted one by one among this many times more keys in order; otherwise all are sorted."""


class SortedKeys:
    """A set of keys. The caller adds no key twice."""

    __slots__ = ("_new", "_ordered")

    def __init__(self) -> None:
        self._ordered: list[Key] = []
        self._new: list[Key] = []
        """Keys that have no place in the order yet."""

    def __len__(self) -> int:
        return len(self._ordered) + len(self._new)

    def add(self, key: Key) -> None:
        self._new.append(key)

    def remove(self, key: Key) -> None:
        """Take out a key, which must be there."""
        ordered = self.ordered()
        del ordered[bisect_left(ordered, key)]

    def ordered(self) -> list[Key]:
        """Return every key in order: the list itself, which is not to be changed."""
        if self._new:
            self._settle()
        return self._ordered

    def _settle(self) -> None:
        if len(self._new) * INSERTED_AMONG < len(self._ordered):
            for key in self._new:
                insort(self._ordered, key)
        else:
            self._ordered += self._new
            self._ordered.sort()
        self._new.clear()
