"""The queue of keys between an informer and its reconciler.

Guarantees, in any order of calls:

* A key waits at most once, however often it was added (dedup).
* A key is never handed out while a worker still holds it; adding it meanwhile makes it wait again
  as soon as the worker is ``done``. So no change is missed and no two runs of one key overlap.
* A delayed key is handed out no earlier than requested, and of several delays the earliest counts.
* A key rests for ``rest_seconds`` after each run: what changes meanwhile is taken together by the next.
  On a loop of the cluster's own time it rests until all else of the moment has happened.
* Back-off is kept per key and doubles from 5 ms to 1000 s, or a lower maximum, until the key is forgotten.

Constants are those of client-go's ``util/workqueue`` default item limiter. Its overall rate limit is left
out: that exists to protect a remote API server, which defends itself (429).
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from itertools import count
from typing import Generic, TypeVar

from podling import clock
from podling.machinery.histograms import Histogram

K = TypeVar("K")

WORK_SECONDS = tuple(10.0**power for power in range(-8, 4))
"""The buckets in which Kubernetes counts how long keys wait and work on them takes."""

BACKOFF_SECONDS_INITIAL = 0.005
BACKOFF_SECONDS_MAX = 1000.0

_EARLY_SECONDS = 1e-9
"""Timers may fire early by a rounding error; less than this is no reason to wait again."""


class QueueClosed(Exception):
    """The queue was closed and has nothing left to hand out."""


def backoff_seconds(failures: int) -> float:
    """Return the delay before another try after ``failures`` (1 or more) failed ones in a row."""
    if failures > 40:  # beyond any doubling that matters; keeps the power small
        return BACKOFF_SECONDS_MAX
    return min(BACKOFF_SECONDS_INITIAL * 2.0 ** (failures - 1), BACKOFF_SECONDS_MAX)


class WorkQueue(Generic[K]):
    """Keys that want a run of the reconciler, first come first served."""

    def __init__(self, backoff_seconds_max: float = BACKOFF_SECONDS_MAX, rest_seconds: float = 0.0) -> None:
        self._backoff_seconds_max = backoff_seconds_max
        self._rest_seconds = rest_seconds
        self._ready: deque[K] = deque()
        self._dirty: dict[K, float] = {}
        """Since when each key wants a run: it waits, or it is held and was added again."""
        self._held: dict[K, float] = {}
        """Since when a worker has each key."""
        self.adds, self.retries = 0, 0
        self.waited, self.worked = Histogram(WORK_SECONDS), Histogram(WORK_SECONDS)
        """Histograms of the seconds that keys waited for a worker, and that workers held them."""
        self._failures: dict[K, int] = {}
        self._due: dict[K, float] = {}  # the earliest time requested, per delayed key
        self._timeline: list[tuple[float, int, K]] = []  # may hold entries that _due no longer confirms
        self._sequence = count()
        self._timer: clock.Timer | None = None
        self._timer_at = 0.0
        self._rounds: dict[K, clock.Timer] = {}
        """The timers of keys whose next run may be passed over."""
        self._rounds_due: dict[K, float] = {}
        """When the last of these runs was due."""
        self._rested: dict[K, float] = {}
        """When each key may run again, in the order of these times."""
        self._resting: dict[K, clock.Timer] = {}
        """The timers of keys that want a run, and rest."""
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Return the number of keys ready to be handed out (delayed and held ones not counted)."""
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Return whether no key waits and none is held; delayed keys may still come."""
        return not self._ready and not self._held and not self._resting

    def held_seconds(self) -> list[float]:
        """For each key that a worker has, for how long."""
        now = clock.monotonic()
        return [now - since for since in self._held.values()]

    def add(self, key: K) -> None:
        """Request a run of ``key`` as soon as possible."""
        if self._closed or key in self._dirty:
            return
        self._dirty[key] = clock.monotonic()
        self.adds += 1
        if key not in self._held:
            self._offer(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Request a run of ``key`` in ``seconds``; an earlier time already requested stays."""
        if seconds <= 0:
            self.add(key)
            return
        if self._closed:
            return
        self.retries += 1
        due = clock.monotonic() + seconds
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        heapq.heappush(self._timeline, (due, next(self._sequence), key))
        self._set_timer()

    def add_round(self, key: K, seconds: float) -> None:
        """As ``add_after``, for a run that finds nothing to do where nothing has happened.

        A clock that leaps may pass over several of them: see ``clock.sleep_until_round``.
        """
        if clock.leaping_clock() is None or seconds <= 0:
            self.add_after(key, clock.aligned(seconds))
        elif not self._closed and key not in self._rounds:
            self.retries += 1
            left = seconds - clock.seconds_late(self._rounds_due.get(key, clock.monotonic()), seconds)
            self._rounds_due[key] = clock.monotonic() + left
            self._rounds[key] = clock.call_round(left, self._release_round, key)

    def add_backoff(self, key: K) -> float:
        """Count a failure of ``key``, and request a run after its back-off. Return its seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(backoff_seconds(failures), self._backoff_seconds_max)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Start ``key``'s back-off from the beginning again: its last run succeeded."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the number of failures of ``key`` in a row."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Return the next key, which the caller holds until ``done``. Raises ``QueueClosed``."""
        while not self._ready:
            if self._closed:
                raise QueueClosed
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # Woken and cancelled at once: the wake-up belongs to another worker now.
                if waiter.done() and not waiter.cancelled() and self._ready:
                    self._wake_one()
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        key = self._ready.popleft()
        now = self._held[key] = clock.monotonic()
        self.waited.observe(now - self._dirty.pop(key))
        return key

    def done(self, key: K) -> None:
        """Let go of ``key``; if it was added meanwhile it waits again."""
        since = self._held.pop(key, None)
        if since is not None:
            now = clock.monotonic()
            self.worked.observe(now - since)
            self._rest(key, now)
        if key in self._dirty:
            self._offer(key)

    def close(self) -> None:
        """Accept no more keys. Waiting ones are still handed out; delayed ones are dropped."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for timer in self._rounds.values():
            timer.cancel()
        self._rounds.clear()
        self._rested.clear()
        for key, timer in list(self._resting.items()):
            timer.cancel()
            self._end_rest(key)
        self._due.clear()
        self._timeline.clear()
        while self._waiters:
            self._wake_one()

    def _offer(self, key: K) -> None:
        """Let the next worker have ``key``, once it has rested."""
        left = self._rested.get(key, -1.0) - clock.monotonic()
        if left >= 0:
            self._resting[key] = clock.call_after_burst(left, self._end_rest, key)
            return
        self._ready.append(key)
        self._wake_one()

    def _end_rest(self, key: K) -> None:
        del self._resting[key]
        self._ready.append(key)
        self._wake_one()

    def _rest(self, key: K, now: float) -> None:
        """Let ``key`` rest from ``now`` on, and forget those that have rested."""
        if not self._rest_seconds or self._closed:
            return
        self._rested.pop(key, None)
        self._rested[key] = now + clock.burst_seconds(self._rest_seconds)
        while (first := next(iter(self._rested))) != key and self._rested[first] < now:
            del self._rested[first]

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_timer(self) -> None:
        """Keep exactly one timer, set for the head of the timeline."""
        while self._timeline and self._due.get(self._timeline[0][2]) != self._timeline[0][0]:
            heapq.heappop(self._timeline)  # superseded by an earlier time, or handed over already
        if not self._timeline:
            return
        due = self._timeline[0][0]
        if self._timer is not None:
            if self._timer_at <= due:
                return
            self._timer.cancel()
        delay = max(0.0, due - clock.monotonic())
        self._timer_at = due
        self._timer = clock.call_later(delay, self._release_due)

    def _release_round(self, key: K) -> None:
        del self._rounds[key]
        self.add(key)

    def _release_due(self) -> None:
        self._timer = None
        now = clock.monotonic() + _EARLY_SECONDS
        while self._timeline and self._timeline[0][0] <= now:
            due, _, key = heapq.heappop(self._timeline)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        self._set_timer()
