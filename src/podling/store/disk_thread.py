"""The one thread that touches a store's file: blocking work, one piece after the other.

A pool's thread would do, but what a pool does around each piece costs more than a short commit, and it does
it while the event loop wants the interpreter.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

Work = Callable[[], None]
Done = Callable[[BaseException | None], None]
"""Called on the thread with what the work raised, or None. Must not raise."""


class DiskThread:
    """Runs what it is given, in order, until it is closed."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
        # A process that ends without closing its store waits for nothing: no queued write was acknowledged.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Work, done: Done) -> None:
        self._queue.put((work, done))

    async def do(self, work: Callable[..., None], *arguments: Any) -> None:
        """Return when the work is done, or raise what it raises; the work is done even if no caller waits."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)

        def done(error: BaseException | None) -> None:
            loop.call_soon_threadsafe(settle, error)

        self.submit(partial(work, *arguments), done)
        await answer

    def close(self) -> None:
        """Do what is queued, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            work, done = item
            try:
                work()
            except BaseException as error:
                done(error)
            else:
                done(None)
            del item, work, done  # nothing is kept alive until the next comes
