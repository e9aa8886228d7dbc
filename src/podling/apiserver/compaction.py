"""Compaction of history: minutes of it are kept, so that every watcher may come back, up to a bound.

Pure but for ``Compaction.run``, which carries the decision out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from podling import clock
from podling.store.base import Store

KEPT_SECONDS = 300.0
"""History younger than this is kept (the default of Kubernetes), unless there is too much of it."""
KEPT_CHANGES = 50_000
KEPT_BYTES = 64 * 1024 * 1024
"""Replaced and deleted values."""
LASTING_BYTES = 16 * 1024 * 1024
LASTING_FROM_SECONDS = 30.0
"""From this age on only so many bytes of history are kept: a burst of large writes goes with its minute."""
CHECK_SECONDS = 10.0
FORGOTTEN_AT_ONCE = 1_000
"""Changes let go of before others get a turn: letting go of an object takes time, too."""


@dataclass(slots=True)
class History:
    """When which revision was the newest: looked at every now and then."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def look(self, now: float, revision: int) -> int:
        """Return the revision up to which history may go, as of ``now``; 0 for none of it."""
        self._seen.append((now, revision))
        old = 0
        while self._seen and now - self._seen[0][0] >= KEPT_SECONDS:
            old = self._seen.popleft()[1]
        return max(old, revision - KEPT_CHANGES)

    def before(self, moment: float) -> int:
        """Return the newest revision that was seen at ``moment`` or before it; 0 for none."""
        return max((revision for seen, revision in self._seen if seen <= moment), default=0)


class Compaction:
    """Compacts a store until cancelled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._history = History()
        self._due = asyncio.Event()

    def note_write(self) -> None:
        """Compact at once if history has become too large."""
        if self._store.history_bytes > KEPT_BYTES:
            self._due.set()

    async def run(self) -> None:
        while True:
            self._due.clear()
            await self._store.forget_derived()
            target = self._target(clock.monotonic())
            while self._store.compacted < target:
                await self._store.compact(min(target, self._store.compacted + FORGOTTEN_AT_ONCE))
                await clock.sleep(0)
            timer = clock.call_round(CHECK_SECONDS, self._due.set)
            try:
                await self._due.wait()
            finally:
                timer.cancel()

    def _target(self, now: float) -> int:
        """Return the revision up to which history goes now."""
        target = self._history.look(now, self._store.revision)
        if self._store.history_bytes > KEPT_BYTES:
            target = max(target, self._store.history_beyond(KEPT_BYTES // 2))
        if self._store.history_bytes > LASTING_BYTES:
            aged = self._history.before(now - LASTING_FROM_SECONDS)
            target = max(target, min(aged, self._store.history_beyond(LASTING_BYTES)))
        return target
