"""Arrivals of requests, for tasks that have nothing to do without any.

Wake-ups are most of what an idle cluster does. So a periodic task that looks after requests rests until the
next one arrives. A request pays for it by reading one attribute.
"""

from __future__ import annotations

import asyncio

from podling import clock


class Arrivals:
    """Lets tasks on one event loop wait for the next request."""

    def __init__(self) -> None:
        self.is_awaited = False
        """A server that receives a request calls ``note`` if this is set."""
        self._rests: set[asyncio.Future[float | None]] = set()

    def note(self) -> None:
        """Wake the tasks that wait: a request has arrived."""
        now = clock.machine_monotonic()
        for rest in self._rests:
            _end(rest, now)
        self.is_awaited = False

    async def wait(self, seconds: float) -> float | None:
        """Wait for a request, at most ``seconds`` of the machine's time; return the time of its arrival."""
        loop = asyncio.get_running_loop()
        rest: asyncio.Future[float | None] = loop.create_future()
        timer = loop.call_later(max(0.0, seconds), _end, rest, None)
        self._rests.add(rest)
        self.is_awaited = True
        try:
            return await rest
        finally:
            timer.cancel()
            self._rests.discard(rest)
            self.is_awaited = any(not each.done() for each in self._rests)


def _end(rest: asyncio.Future[float | None], arrived_at: float | None) -> None:
    if not rest.done():
        rest.set_result(arrived_at)
