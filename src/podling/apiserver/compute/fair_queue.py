"""A queue in which owners take turns: one owner's many items delay another's first by one item at most."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items by owner; the owners in a round, and each owner's items in order."""

    def __init__(self) -> None:
        self._items: dict[str, deque[T]] = {}
        """Owners with items, the next one first."""
        self._takers: dict[int, asyncio.Future[None]] = {}
        """Idle takers, by their rank."""

    def __len__(self) -> int:
        return sum(map(len, self._items.values()))

    def put(self, owner: str, item: T) -> None:
        self._items.setdefault(owner, deque()).append(item)
        self._wake()

    def put_back(self, owner: str, item: T) -> None:
        """Return an item to the front of the queue."""
        own = self._items.pop(owner, deque())
        own.appendleft(item)
        self._items = {owner: own, **self._items}
        self._wake()

    async def take(self, rank: int) -> T:
        """Return the next item. Of several idle takers the one with the lowest ``rank`` is served first."""
        while not self._items:
            waiting = self._takers[rank] = asyncio.get_running_loop().create_future()
            try:
                await waiting
            finally:
                if self._takers.get(rank) is waiting:
                    del self._takers[rank]
        owner, own = next(iter(self._items.items()))
        item = own.popleft()
        del self._items[owner]
        if own:
            self._items[owner] = own  # the last in the round
            self._wake()
        elif self._items:
            self._wake()
        return item

    def _wake(self) -> None:
        if self._takers:
            waiting = self._takers.pop(min(self._takers))
            if not waiting.done():
                waiting.set_result(None)
