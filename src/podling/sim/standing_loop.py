"""An event loop for programs that look at a cluster whose time stands still: its time is the cluster's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from podling import clock

T = TypeVar("T")


class StandingLoop(asyncio.SelectorEventLoop):
    """A loop whose wall time is always ``now``; timers and sockets have the machine's time."""

    def __init__(self, now: datetime) -> None:
        clock.expect_own_time()
        super().__init__()
        self._now = now.timestamp()

    def wall_time(self) -> float:
        return self._now

    def steady_time(self) -> float:
        return self.time()


def run_at(now: datetime, main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` to its end with ``clock.now()`` standing at ``now``."""
    with asyncio.Runner(loop_factory=lambda: StandingLoop(now)) as runner:
        return runner.run(main)
