"""The loop that runs a reconciler: everything about retrying, in one place.

A reconciler receives a key and brings the cluster closer to the desired state; it never sees the event that
woke it, never sleeps and never counts failures. One switch decides the next run:

=======================  =======================================================
the run ends with        then
=======================  =======================================================
``AwaitChange``          forget the back-off; the next change wakes the key
``RequeueAfter``         forget the back-off; run again then, or on a change
a conflict (409)         run again shortly: another client wrote, the copy was old;
                         the delay doubles from 10 ms to 1 s
``Terminal``             nothing: only a change of the object can help
any other exception      run again after the key's back-off, or later if the
                         server requires it (``Retry-After``)
=======================  =======================================================
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol, assert_never

from msgspec import Struct

from podling.client.base import Key, Unreachable
from podling.client.workqueue import QueueClosed, WorkQueue
from podling.machinery.errors import ApiError, is_conflict
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

CONFLICT_RETRY_SECONDS = 0.01
"""Long enough for the winning write to reach our informer, short enough not to be noticed."""
CONFLICT_RETRY_SECONDS_MAX = 1.0
"""Conflicts in a row double the delay up to this: the informer is late, and its event wakes the key."""


class RequeueAfter(Struct, frozen=True):
    """All done for now; look again in ``seconds``, or when something changes before.

    Args:
        is_round: the look finds nothing to do where nothing has happened (``clock.sleep_until_round``).
    """

    seconds: float
    is_round: bool = False


class AwaitChange(Struct, frozen=True):
    """All done; look again when something changes."""


Action = RequeueAfter | AwaitChange


class Terminal(Exception):
    """Another try cannot succeed unless the object changes first."""


class NotYet(Exception):
    """Another try may succeed though nothing seen changes: something outside of our view has to."""


class Reconciler(Protocol):
    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange: ...


class _Retry(Struct, frozen=True):
    """After a failure: in ``seconds``, or with ``backoff`` no sooner than the key's back-off ends."""

    seconds: float
    backoff: bool


class _GiveUp(Struct, frozen=True):
    pass


Decision = RequeueAfter | AwaitChange | _Retry | _GiveUp


def what_next(outcome: Action | Exception) -> Decision:
    """Return the switch of the module's table."""
    match outcome:
        case RequeueAfter() | AwaitChange():
            return outcome
        case Terminal():
            return _GiveUp()
        case ApiError() if is_conflict(outcome):
            return _Retry(CONFLICT_RETRY_SECONDS, backoff=False)
        case ApiError():
            return _Retry(float(outcome.retry_after or 0), backoff=True)
        case Exception():
            return _Retry(0.0, backoff=True)
        case _:
            assert_never(outcome)


@dataclass(slots=True)
class Counters:
    """Counts of a runner's work; metrics read them, only the runner writes them."""

    runs: int = 0
    failures: int = 0
    conflicts: int = 0
    given_up: int = 0
    active: int = 0


class Runner:
    """Runs ``reconciler`` for every key of ``queue``, at most ``workers`` at a time."""

    def __init__(
        self, reconciler: Reconciler, queue: WorkQueue[Key], workers: int = 1, name: str = ""
    ) -> None:
        self._reconciler = reconciler
        self._queue = queue
        self._workers = workers
        self.name = name or type(reconciler).__name__
        self.counters = Counters()
        self._conflicts: dict[Key, int] = {}
        """The number of conflicts in a row by key."""

    async def run(self) -> None:
        """Work until the queue is closed and empty, or until cancelled."""
        async with Supervisor() as supervisor:
            for number in range(self._workers):
                supervisor.keep_running(self.name, self._work, str(number))

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except QueueClosed:
                return
            self.counters.active += 1
            try:
                self._settle(key, await self._attempt(key))
            except Exception:
                self._queue.add_backoff(key)
                raise
            finally:
                self.counters.active -= 1
                self._queue.done(key)

    async def _attempt(self, key: Key) -> Action | Exception:
        self.counters.runs += 1
        try:
            return await self._reconciler.reconcile(key)
        except Exception as error:
            return error

    def _settle(self, key: Key, outcome: Action | Exception) -> None:
        decision = what_next(outcome)
        conflicts = self._conflicts.pop(key, 0)
        match decision:
            case AwaitChange():
                self._queue.forget(key)
            case RequeueAfter(seconds=seconds, is_round=True):
                self._queue.forget(key)
                self._queue.add_round(key, seconds)
            case RequeueAfter(seconds=seconds):
                self._queue.forget(key)
                self._queue.add_after(key, seconds)
            case _GiveUp():
                self.counters.given_up += 1
                self._queue.forget(key)
                logger.warning("%s: %s will not be tried again: %s", self.name, key, outcome)
            case _Retry(seconds=seconds, backoff=False):
                self.counters.conflicts += 1
                self._conflicts[key] = conflicts + 1
                delay = min(seconds * 2.0 ** min(conflicts, 10), CONFLICT_RETRY_SECONDS_MAX)
                self._queue.add_after(key, delay)
            case _Retry(seconds=seconds):
                self.counters.failures += 1
                self._report(key, outcome)
                self._retry(key, seconds)
            case _:
                assert_never(decision)

    def _retry(self, key: Key, seconds: float) -> None:
        # The queue keeps the earliest time requested, so a longer wait of the server cannot be put
        # beside the back-off: it takes its place.
        if seconds > 0:
            self._queue.add_after(key, seconds)
        else:
            self._queue.add_backoff(key)

    def _report(self, key: Key, outcome: Action | Exception) -> None:
        if isinstance(outcome, (ApiError, Unreachable, NotYet)):
            logger.info("%s: %s will be tried again: %s", self.name, key, outcome)
        elif isinstance(outcome, Exception):
            logger.error("%s: %s will be tried again", self.name, key, exc_info=outcome)
