"""Time: the only module that reads clocks or waits.

Time comes from the running event loop. A loop that keeps its own wall clock (the virtual-time
loop of ``podling.sim``) offers ``wall_time()``; on any other loop, and outside of one, wall time is
the system's. Nothing else in Podling may read a clock or wait: a lint rule and a test hold this,
so the same components run unchanged on a virtual clock.

A loop with a wound clock (``podling.sim.wound_loop``) has real sockets, and the cluster's time stands still
until it is wound. There the timers of asyncio, and the functions ``machine_*`` here, run in the machine's
time: sockets and queues of requests use them. All else, ``timeout`` and ``call_later`` too, is cluster time.
On every other loop both times are one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol


class OwnTime(Protocol):
    """A loop that keeps the cluster's time itself."""

    def wall_time(self) -> float: ...
    def steady_time(self) -> float: ...
    def time(self) -> float: ...


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


class Leaping(Protocol):
    """A clock that leaps over rounds while ``may_leap`` says that nothing happens."""

    may_leap: Callable[[], bool]

    def call_round(
        self, seconds: float, callback: Callable[..., object], *arguments: object, is_heartbeat: bool = False
    ) -> Timer: ...
    def call_report(
        self, seconds: float, period: float, callback: Callable[..., object], *arguments: object
    ) -> Timer: ...


class WoundClock(Protocol):
    """The clock of a loop whose cluster time moves only when it is wound."""

    def call_later(self, seconds: float, callback: Callable[..., object], *arguments: object) -> Timer: ...
    def hold(self) -> Timer: ...
    def note_activity(self) -> None: ...
    def steady_time(self) -> float: ...
    def set_aside(self, hold: Any) -> AbstractContextManager[bool]: ...
    async def wind_to(self, moment: float) -> None: ...


_client_hold: ContextVar[Timer | None] = ContextVar("client_hold", default=None)
"""The hold on a wound clock for the client's request that the running task serves."""
_INSTANT = 1e-6
_GRIDS_MILLISECONDS = (10_000, 5_000, 2_000, 1_000)
_STARTED_AT = time.time() - time.monotonic()
"""The wall time at which the steady clock was zero, as this process saw it at its start."""
_own_times = False
"""True once this process has made such a loop: time is read too often to query the loop each time."""


def expect_own_time() -> None:
    """Record that a loop with its own time exists in this process: query the running loop from now on."""
    global _own_times
    _own_times = True


def own_loop() -> OwnTime | None:
    """Return the running loop if it keeps time itself."""
    if not _own_times:
        return None
    loop: Any = asyncio._get_running_loop()  # raises no exception where there is no loop
    return loop if hasattr(loop, "wall_time") else None


def now() -> datetime:
    """Return the current time in UTC, with microseconds. Read it once per decision and pass it on."""
    loop = own_loop() if _own_times else None
    return datetime.now(UTC) if loop is None else datetime.fromtimestamp(loop.wall_time(), UTC)


def machine_now() -> datetime:
    """Return ``now()`` in the machine's time, which a wound clock neither stops nor sets: for TLS."""
    return now() if wound_clock() is None else datetime.now(UTC)


def steady_now() -> datetime:
    """Return the time in UTC on a clock that is never set: for moments that one process compares.

    It is ``now()`` as long as the machine's clock is not set. A moment that is stored, or compared with a
    stored one, is ``now()``'s. Go's ``time.Time`` has both times in one value, and subtracts the steady ones.
    """
    if _own_times:
        loop: Any = asyncio._get_running_loop()
        if hasattr(loop, "wall_time"):
            seconds = loop.unset_time() if hasattr(loop, "unset_time") else loop.wall_time()
            return datetime.fromtimestamp(seconds, UTC)
    return datetime.fromtimestamp(_STARTED_AT + time.monotonic(), UTC)


def seconds_precision(moment: datetime) -> datetime:
    """``moment`` cut to whole seconds, as API timestamps (``metav1.Time``) carry it."""
    return moment.replace(microsecond=0)


def monotonic() -> float:
    """Return seconds on a clock that never goes back; only differences mean something."""
    if _own_times:
        loop: Any = asyncio._get_running_loop()
        if hasattr(loop, "wall_time"):
            return float(loop.steady_time())
    return time.monotonic()


def machine_monotonic() -> float:
    """Return ``monotonic()`` in the machine's time, which a wound clock does not stop."""
    if _own_times:
        loop: Any = asyncio._get_running_loop()
        if hasattr(loop, "wall_time"):
            return float(loop.time())
    return time.monotonic()


def real_monotonic() -> float:
    """Return seconds of the machine's clock on every loop, also under virtual time.

    For what people see of a simulation's speed; nothing inside of a simulation may depend on it.
    """
    return time.monotonic()


def wound_clock() -> WoundClock | None:
    """Return the clock of the running loop if it is one that is wound."""
    if not _own_times:
        return None
    found: WoundClock | None = getattr(asyncio._get_running_loop(), "winding", None)
    return found


def leaping_clock() -> Leaping | None:
    """Return the clock of the running loop if it is one that leaps."""
    if not _own_times:
        return None
    found: Leaping | None = getattr(asyncio._get_running_loop(), "leaps", None)
    return found


async def sleep(seconds: float) -> None:
    """Wait for ``seconds``; zero or less only lets others run."""
    wound = wound_clock()
    if wound is None or seconds <= 0:
        await asyncio.sleep(max(0.0, seconds))
        return
    over = asyncio.get_running_loop().create_future()
    timer = wound.call_later(seconds, _settle, over)
    try:
        await over
    finally:
        timer.cancel()


def aligned(seconds: float, offset: float = 0.0) -> float:
    """Return about ``seconds``: the wait of a task that looks around periodically.

    The waits of all tasks on this machine's clock end at the same moments, so that the tasks share wake-ups:
    these are most of the cost of an idle cluster. Linux' ``round_jiffies`` has the same purpose.
    Loops that keep their own time wait for exactly ``seconds``.

    Args:
        seconds: the period.
        offset: seconds after the common moment, for one of many tasks that do the same.
    """
    if _own_times and own_loop() is not None:
        return seconds
    return aligned_wait(time.monotonic(), seconds, offset)


def aligned_wait(now: float, seconds: float, offset: float = 0.0) -> float:
    """Return the wait from ``now`` until the common moment that is nearest to ``seconds`` from now.

    Common moments are the multiples of ten, five, two seconds or one: of the longest that divides the period.
    Other periods have none. Times are whole milliseconds, as event loops count them.
    """
    began, period, late = (int(each * 1000 + 1e-6) for each in (now, seconds, offset))
    grid = next((each for each in _GRIDS_MILLISECONDS if period % each == 0), 0)
    if grid == 0 or period <= 0:
        return seconds
    moment = (began + period - late + grid // 2) // grid * grid + late
    return (moment - began) / 1000


async def sleep_until_round(seconds: float, *, late: float = 0.0, is_heartbeat: bool = False) -> float:
    """Wait for ``seconds`` less ``late`` before a round that finds nothing to do where nothing has happened.

    A cluster's own clock may pass over several such rounds at once where nothing happens, and then lets one
    of each be made: the wait is longer. Heartbeats come first, before the rounds that look for them. Returns
    how long ago the last round was due: the next wait is shorter by it, so that rounds keep to their times.
    """
    due = monotonic() + seconds - late
    if leaping_clock() is None or seconds <= late:
        await sleep(aligned(seconds - late))
        return 0.0
    over = asyncio.get_running_loop().create_future()
    timer = call_round(seconds - late, _settle, over, is_heartbeat=is_heartbeat)
    try:
        await over
    finally:
        timer.cancel()
    return seconds_late(due, seconds)


async def machine_sleep(seconds: float) -> None:
    """Wait for ``seconds`` of the machine's time."""
    await asyncio.sleep(max(0.0, seconds))


def call_later(seconds: float, callback: Callable[..., object], *arguments: Any) -> Timer:
    """Call ``callback`` after ``seconds``."""
    wound = wound_clock()
    if wound is not None:
        return wound.call_later(seconds, callback, *arguments)
    return asyncio.get_running_loop().call_later(seconds, callback, *arguments)


def burst_seconds(seconds: float) -> float:
    """Return for how long changes that come together are awaited: ``seconds``.

    On a loop of the cluster's own time that is no time: there all that needs none happens before time passes.
    """
    return seconds if own_loop() is None else 0.0


def call_after_burst(seconds: float, callback: Callable[..., object], *arguments: Any) -> Timer:
    """Call ``callback`` after ``seconds``; on a loop of the cluster's own time after all else of a moment.

    ``seconds`` are those of ``burst_seconds``, or what is left of them.
    """
    # A wound clock calls what is due when there is nothing else to do; a virtual one at once.
    return call_later(seconds if wound_clock() is not None else max(seconds, _INSTANT), callback, *arguments)


def call_round(
    seconds: float, callback: Callable[..., object], *arguments: Any, is_heartbeat: bool = False
) -> Timer:
    """Call ``callback`` after ``seconds``, for a round as those of ``sleep_until_round``."""
    leaping = leaping_clock()
    if leaping is not None:
        return leaping.call_round(seconds, callback, *arguments, is_heartbeat=is_heartbeat)
    return asyncio.get_running_loop().call_later(aligned(seconds), callback, *arguments)


def call_report(seconds: float, period: float, callback: Callable[..., object], *arguments: Any) -> Timer:
    """Call ``callback`` after ``seconds`` for a report that follows each ``period`` and says nothing new.

    A cluster's own clock may pass over several of them where nothing happens; the next one is at its time.
    """
    leaping = leaping_clock()
    if leaping is not None:
        return leaping.call_report(seconds, period, callback, *arguments)
    return asyncio.get_running_loop().call_later(seconds, callback, *arguments)


def seconds_late(due: float, seconds: float) -> float:
    """Return how long ago the last round was due, of those that follow ``due`` each ``seconds``."""
    late = monotonic() - due
    return 0.0 if late < _INSTANT else late % seconds


def timeout(seconds: float | None, *, is_round: bool = False) -> AbstractAsyncContextManager[object]:
    """Return a context that raises ``TimeoutError`` after ``seconds``, as ``asyncio.timeout`` does.

    ``is_round``: for a round as those of ``sleep_until_round``.
    """
    wound = wound_clock()
    if seconds is None:
        return asyncio.timeout(None)
    if is_round and leaping_clock() is not None:
        return _Timeout(call_round, seconds)
    return asyncio.timeout(seconds) if wound is None else _Timeout(wound.call_later, seconds)


def hold() -> Timer | None:
    """Stop a wound clock while a request is in work, until the result is cancelled; None without one."""
    wound = wound_clock()
    return None if wound is None else wound.hold()


def hold_for_client() -> Timer | None:
    """Return ``hold()`` for a client's request, which the running task serves."""
    found = hold()
    if found is not None:
        _client_hold.set(found)
    return found


async def sleep_in_request(seconds: float) -> None:
    """Wait for ``seconds`` as a part of a request.

    The request does not stop a wound clock meanwhile. If a client waits for it and the clock stands
    still, the clock moves on by this time: the client could not wind it.
    """
    wound, held = wound_clock(), _client_hold.get()
    if wound is None or held is None:
        await sleep(seconds)
        return
    with wound.set_aside(held) as is_waited_for:
        if not is_waited_for:
            await sleep(seconds)
            return
        moment = wound.steady_time() + seconds + _INSTANT  # the sleep ends before the winding does
        winding = asyncio.create_task(wound.wind_to(moment))
        try:
            await sleep(seconds)
        finally:
            winding.cancel()
            await asyncio.gather(winding, return_exceptions=True)


def note_activity() -> None:
    """Let a wound clock wait a moment: a client was sent something, and may react."""
    wound = wound_clock()
    if wound is not None:
        wound.note_activity()


async def wait_for(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until ``event`` is set, at most ``seconds`` (``None``: for ever); True if it was set."""
    if seconds is None:
        await event.wait()
        return True
    try:
        async with timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


async def wait_done(task: asyncio.Task[Any], seconds: float) -> bool:
    """Wait until ``task`` is done, at most ``seconds``; True if it is. Neither way cancels it."""
    try:
        async with timeout(seconds):
            await asyncio.wait([task])
    except TimeoutError:
        pass
    return task.done()


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when the first of them does; the others are given up."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        if pending := [task for task in tasks if not task.done()]:
            await asyncio.wait(pending)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # it is retrieved, so that asyncio does not log it


class _Timeout:
    """``asyncio.timeout`` by a timer of the cluster's own clock, which ``call`` sets."""

    def __init__(self, call: Callable[..., Timer], seconds: float) -> None:
        self._call = call
        self._seconds = seconds
        self._is_over = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._timer = self._call(self._seconds, self._end)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if not self._is_over:
            return
        only_ours = self._task.uncancel() <= self._cancelling
        if only_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def _end(self) -> None:
        self._is_over = True
        self._task.cancel()


def _settle(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)
