"""The processes of a cluster's parts, as ``podling status`` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from podling.cluster.processes.states import PartState, Snapshot, problem
from podling.machinery.tables import human_duration

STOPPED = ("T", "t")
"""States of a process in ``/proc`` that a signal or a debugger has stopped."""


def part_rows(snapshot: Snapshot, now: float, wall: datetime) -> Iterator[str]:
    """Yield a line for each part."""
    width = max((len(each.part.name) for each in snapshot.parts), default=0)
    for each in snapshot.parts:
        yield f"{each.part.name:<{width}}  {_process(each, now)}{_problem(each, now, wall)}"


def processes(snapshot: Snapshot) -> list[int]:
    """Return the ids of the supervisor and of every part that has a process."""
    return [snapshot.supervisor, *(each.pid for each in snapshot.parts if each.pid)]


def _process(state: PartState, now: float) -> str:
    restarts = f"{state.restarts} restart{'' if state.restarts == 1 else 's'}"
    if not state.pid or state.started is None:
        return f"no process, {restarts}"
    age = human_duration(timedelta(seconds=max(0.0, now - state.started)))
    return f"process {state.pid}, {own_mib(state.pid):.0f} MiB, for {age}, {restarts}"


def _problem(state: PartState, now: float, wall: datetime) -> str:
    found = problem(state, now, wall)
    stopped = "stopped by a signal" if state.pid and is_stopped(state.pid) else ""
    text = "; ".join(filter(None, (found, stopped)))
    return f"  {text}" if text else ""


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, as by SIGSTOP."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in STOPPED
    except OSError:
        return False


def own_mib(pid: int) -> float:
    """Return a process' memory in MiB, of what it shares with others its share; 0 where it is unknown."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)
