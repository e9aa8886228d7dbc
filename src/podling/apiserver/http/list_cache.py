"""Cache of short list answers, each valid until the next write to the store, and made once.

Many clients send the same list request: dashboards poll, and after a restart all clients list at once. A list
contains the store's revision, so any write invalidates every cached list. A request that finds another one
making its list waits for it; otherwise each of them would make the same list anew after every write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from podling.client.requests import Target

MAX_KEPT = 8
"""Number of cached lists; each is at most one piece of an answer (``representations.PIECE_BYTES``)."""


class KeptLists:
    """The bytes of whole lists, all as of one revision."""

    def __init__(self) -> None:
        self._revision = 0
        self._bodies: dict[Target, bytes] = {}
        self._making: dict[Target, asyncio.Future[None]] = {}
        """Each is done when its list is kept, or will not be."""

    async def find(self, target: Target, revision: int) -> bytes | None:
        """Return the list of everything in ``target`` as of ``revision`` or a later one, if it is kept.

        Waits while another request makes the list. After None the caller makes it, and enters ``making``
        before it waits for anything.
        """
        while (found := self.kept(target, revision)) is None and target in self._making:
            await asyncio.wait((self._making[target],))
        return found

    def kept(self, target: Target, revision: int) -> bytes | None:
        return self._bodies.get(target) if revision <= self._revision else None

    @contextmanager
    def making(self, target: Target) -> Iterator[Callable[[], None]]:
        """Let other requests for ``target`` wait until the block ends or the function it gets is called."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._making[target] = future
        ended = partial(self._end, target, future)
        try:
            yield ended
        finally:
            ended()

    def _end(self, target: Target, future: asyncio.Future[None]) -> None:
        if not future.done():
            future.set_result(None)
            del self._making[target]

    def keep(self, target: Target, revision: int, body: bytes) -> None:
        """Keep a list, unless one of a later revision is kept; drop those of earlier ones."""
        if revision < self._revision:
            return
        if revision > self._revision:
            self._bodies.clear()
            self._revision = revision
        if len(self._bodies) < MAX_KEPT:
            self._bodies[target] = body
