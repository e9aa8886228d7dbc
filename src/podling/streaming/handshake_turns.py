"""Begins the TLS handshakes of a listener in the order of their queue, a few in each turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from podling.streaming.accepted import Accepted
from podling.streaming.handshakes import BEGUN_AT_ONCE, SLOW_SECONDS, HandshakeQueue


class HandshakeTurns:
    """The handshakes that wait and those in progress.

    Args:
        begin: starts the handshake of a connection; the task ends with it.
    """

    def __init__(self, begin: Callable[[Accepted], asyncio.Task[None]]) -> None:
        self._begin = begin
        self._queue: HandshakeQueue[Accepted] = HandshakeQueue()
        self._in_progress: dict[Accepted, asyncio.TimerHandle] = {}
        """Handshakes that count, with the timers from which on they do not."""
        self._next: asyncio.Handle | None = None

    def add(self, accepted: Accepted) -> None:
        """Begin the handshake of a connection when its turn has come."""
        self._queue.add(accepted.peer, accepted)
        self._begin_later()

    def discard(self, accepted: Accepted) -> None:
        """Forget a connection that is closed."""
        self._queue.discard(accepted.peer, accepted)

    def close(self) -> None:
        """Begin no more handshakes."""
        if self._next is not None:
            self._next.cancel()
        for timer in self._in_progress.values():
            timer.cancel()
        self._in_progress.clear()

    def _begin_later(self) -> None:
        if self._next is None and self._queue:
            self._next = asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        self._next = None
        loop = asyncio.get_running_loop()
        for _ in range(BEGUN_AT_ONCE):
            if (accepted := self._queue.take()) is None:
                return
            self._in_progress[accepted] = loop.call_later(SLOW_SECONDS, self._end, accepted)
            self._begin(accepted).add_done_callback(partial(self._ended, accepted))
        self._begin_later()

    def _ended(self, accepted: Accepted, task: asyncio.Task[None]) -> None:
        self._end(accepted)

    def _end(self, accepted: Accepted) -> None:
        """Count a handshake no more: it is over, or its client is slow."""
        timer = self._in_progress.pop(accepted, None)
        if timer is not None:
            timer.cancel()
            self._queue.end(accepted.peer)
            self._begin_later()
