"""The event loop of a cluster with real clients and a clock that is wound: real sockets, standing time.

asyncio's own timers run in the machine's time: TLS, HTTP and all that waits for a peer need no change. The
time of the cluster, which ``podling.clock`` reads and waits for, is that of ``Winding``. It moves on only
when the loop has nothing to do, so that all that is to happen in a second does happen before the next.

Threads and child processes are invisible to the clock: components on such a loop do their work in the loop,
as they do on the virtual-time loop.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from datetime import datetime

from podling import clock
from podling.winding import Winding

_Ready = list[tuple[selectors.SelectorKey, int]]


class _WindingSelector(selectors.DefaultSelector):
    """A selector that lets the wound clock move whenever there is nothing else to do."""

    winding: Winding | None = None
    wake_up = -1
    """The descriptor by which other threads of the process wake the loop."""

    def select(self, timeout: float | None = None) -> _Ready:
        ready = self._noted(super().select(0))
        if ready or timeout == 0 or self.winding is None:
            return ready
        wait = self.winding.idle()
        if wait is None:
            wait = timeout
        elif timeout is not None:
            wait = min(wait, timeout)
        return self._noted(super().select(wait))

    def _noted(self, ready: _Ready) -> _Ready:
        if self.winding is not None and any(key.fd != self.wake_up for key, _ in ready):
            self.winding.note_activity()
        return ready


class WoundLoop(asyncio.SelectorEventLoop):
    """An event loop with sockets whose cluster time is wound.

    Args:
        start: the wall time at which the cluster begins.
        seed: decides what is random in the cluster; None leaves that to the operating system.
    """

    def __init__(self, start: datetime, seed: int | None = None) -> None:
        clock.expect_own_time()
        selector = _WindingSelector()
        super().__init__(selector)
        self.winding = self.leaps = Winding(start.timestamp(), self.time, self.call_soon)
        if seed is not None:
            self.random_source = random.Random(seed)
        selector.winding, selector.wake_up = self.winding, self._ssock.fileno()  # type: ignore[attr-defined]

    def wall_time(self) -> float:
        return self.winding.wall_time()

    def steady_time(self) -> float:
        return self.winding.steady_time()
