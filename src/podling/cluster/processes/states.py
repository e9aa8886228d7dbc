"""The state of each part's process, and what follows from it: restarts, silence, problem. Pure.

Moments are seconds of ``clock.monotonic``, which is the same for all processes of a machine.

A part that ends is started again at once. One that ends again and again waits longer each time, above all one
that cannot start; one that has run well for a while begins anew. A part that gives no sign of life is
reported, and not killed: it may be stopped on purpose, or wait for a disk, and ending it would not help.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from podling.cluster.processes.parts import Part

STABLE_SECONDS = 5.0
"""A process that ran for so long and then ends has failed for the first time."""
RESTART_SECONDS = 0.1
"""The wait before the second restart in a row; it doubles with each further one."""
RESTART_SECONDS_MAX = 10.0
"""The longest wait after a process that could not start ..."""
SERVED_RESTART_SECONDS_MAX = 0.4
"""... and after one that served: it may do so again, and is to be back within a second."""
LOOP_FAILURES = 3
"""So many failures in a row are a crash loop."""

SIGN_SECONDS = 1.0
"""Every process gives a sign of life so often."""
SILENT_SECONDS = 2.5
"""A process without a sign of life for so long does not respond."""
STARTING_SILENT_SECONDS = 30.0
"""The same while it starts: a large store is read in one piece."""

STARTING = "starting"
RUNNING = "running"
WAITING = "waiting"
ENDED = "ended"


class PartState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part and its process.

    ``waiting`` is the phase of a part without a process until ``next_start``; ``ended`` that of one that is
    not to be started again.
    """

    part: Part
    phase: str = WAITING
    pid: int = 0
    started: float | None = None
    """When the present process began, or the last one."""
    heard: float = 0.0
    """The last sign of life of the process."""
    silent_since: float | None = None
    starts: int = 0
    failures: int = 0
    """Ends in a row."""
    failure: str = ""
    """Why the present process could not start, in its own words."""
    last_exit: str = ""
    next_start: float = 0.0

    @property
    def restarts(self) -> int:
        return max(0, self.starts - 1)


class Snapshot(Struct, frozen=True):
    """The states of all parts, and the process that supervises them."""

    supervisor: int
    parts: tuple[PartState, ...] = ()


def snapshot(supervisor: int, parts: Iterable[PartState]) -> Snapshot:
    """Return what is shown of the parts: without their signs of life, which change all the time."""
    return Snapshot(supervisor, tuple(replace(each, heard=0.0) for each in parts))


def begun(state: PartState, pid: int, now: float) -> PartState:
    """Return the state of a part whose process has been started."""
    return replace(
        state,
        phase=STARTING,
        pid=pid,
        started=now,
        heard=now,
        silent_since=None,
        starts=state.starts + 1,
        failure="",
    )


def alive(state: PartState, now: float) -> PartState:
    """Return the state after a sign of life."""
    return replace(state, heard=now, silent_since=None)


def running(state: PartState) -> PartState:
    """Return the state of a part whose process has started to serve."""
    return replace(state, phase=RUNNING)


def failed_to_start(state: PartState, why: str) -> PartState:
    """Return the state of a part whose process has said why it cannot start."""
    return replace(state, failure=why)


def exited(state: PartState, how: str, now: float, *, stopping: bool = False) -> PartState:
    """Return the state of a part whose process has ended."""
    lived = now - state.started if state.started is not None else 0.0
    stable = state.phase == RUNNING and lived >= STABLE_SECONDS
    failures = 1 if stable else state.failures + 1
    longest = SERVED_RESTART_SECONDS_MAX if state.phase == RUNNING else RESTART_SECONDS_MAX
    return replace(
        state,
        phase=ENDED if stopping else WAITING,
        pid=0,
        silent_since=None,
        failures=failures,
        last_exit=f"{how}: {state.failure}" if state.failure else how,
        next_start=now + min(restart_seconds(failures), longest),
    )


def restart_seconds(failures: int) -> float:
    """Return the wait before a restart after so many ends in a row."""
    if failures <= 1:
        return 0.0
    return min(RESTART_SECONDS * 2.0 ** min(failures - 2, 20), RESTART_SECONDS_MAX)


def is_due(state: PartState, now: float) -> bool:
    """Return whether a part without a process is to be started."""
    return state.phase == WAITING and now >= state.next_start


def looked_at(state: PartState, now: float) -> PartState:
    """Return the state with its silence, if it gives no sign of life; the very same if nothing changed."""
    if state.pid and state.silent_since is None and now - state.heard >= _silence(state):
        return replace(state, silent_since=state.heard)
    return state


def _silence(state: PartState) -> float:
    return STARTING_SILENT_SECONDS if state.phase == STARTING else SILENT_SECONDS


def next_change(state: PartState, now: float) -> float:
    """Return the seconds until time alone changes a state; a sign of life may come earlier."""
    if state.phase == WAITING:
        return max(0.0, state.next_start - now)
    if state.pid and state.silent_since is None:
        return max(0.0, state.heard + _silence(state) - now)
    return SIGN_SECONDS * 3600


def problem(state: PartState, now: float, wall: datetime) -> str:
    """Return what is wrong with a part, in one line; empty if nothing is. ``wall`` is the time of day."""
    if state.silent_since is not None:
        since = wall - timedelta(seconds=now - state.silent_since)
        return f"not responding since {since:%Y-%m-%dT%H:%M:%SZ}"
    if state.phase == WAITING and state.starts:
        seconds = max(0.0, state.next_start - now)
        if state.failures < LOOP_FAILURES:
            return f"{state.last_exit}; starts again in {seconds:.1f} s"
        return f"crash loop: {state.last_exit}; {state.failures} times, starts again in {seconds:.1f} s"
    if state.phase == STARTING and state.failures >= LOOP_FAILURES:
        return f"crash loop: {state.last_exit}; {state.failures} times, starting again"
    if state.phase == STARTING and state.restarts:
        return f"{state.last_exit}; starting again"
    if state.phase == ENDED:
        return state.last_exit
    return ""
