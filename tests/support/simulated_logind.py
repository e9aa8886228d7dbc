"""The login manager of a simulated machine, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from podling import clock
from podling.kubelet.shutdown.logind import Logind, LogindFailure


class SimulatedLogind:
    """Delays shutdowns as long as locks are held, at most its longest delay.

    Args:
        delay: the longest delay, in seconds.
        limit: the greatest delay that the machine's owner lets a configuration set.
    """

    def __init__(self, delay: float = 3600.0, limit: float = 3600.0) -> None:
        self.delay = delay
        self.locks: set[int] = set()
        self.released_at: list[float] = []
        self.is_reachable = True
        self._limit = limit
        self._wanted = delay
        self._number = 0
        self._signals: asyncio.Queue[bool | None] = asyncio.Queue()

    async def connect(self) -> Logind:
        if not self.is_reachable:
            raise LogindFailure("the system bus cannot be reached: no such file")
        return self

    def shut_down(self) -> None:
        self._signals.put_nowait(True)

    def cancel_shutdown(self) -> None:
        self._signals.put_nowait(False)

    def restart(self) -> None:
        """End every connection, as the end of the bus would."""
        self._signals.put_nowait(None)

    # Calls of the kubelet.

    async def inhibit_delay(self) -> float:
        return self.delay

    async def override_inhibit_delay(self, seconds: float) -> None:
        self._wanted = min(seconds, self._limit)

    async def reload(self) -> None:
        self.delay = self._wanted

    async def inhibit(self) -> int:
        self._number += 1
        self.locks.add(self._number)
        return self._number

    def release(self, lock: int) -> None:
        self.locks.remove(lock)
        self.released_at.append(clock.monotonic())

    async def shutdowns(self) -> AsyncIterator[bool]:
        while (signal := await self._signals.get()) is not None:
            yield signal

    async def close(self) -> None:
        pass
