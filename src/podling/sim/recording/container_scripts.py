"""The scripts of containers, read from the revisions of their pod: starts, runs, exit codes, stops. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct

Plain = dict[str, Any]


class _Run(Struct):
    """A run of a container, in seconds of the recording."""

    began: float
    ended: float | None = None
    exit_code: int = 0


class _Life(Struct):
    bound: float | None = None
    deleted: float | None = None
    runs: dict[str, dict[str, _Run]] = {}
    """By the container's name and ID."""


def scripts_of(revisions: Iterable[tuple[float, Plain]]) -> dict[str, Plain]:
    """Return the script of each container that was seen to run, by its name.

    Args:
        revisions: the revisions of one pod and their seconds, in their order.
    """
    life = _Life()
    for at, pod in revisions:
        if life.bound is None and (pod.get("spec") or {}).get("nodeName"):
            life.bound = at
        if life.deleted is None and pod["metadata"].get("deletionTimestamp"):
            life.deleted = at
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            _note(life.runs.setdefault(status["name"], {}), status, at)
    return {name: _script(life, list(runs.values())) for name, runs in life.runs.items() if runs}


def _note(runs: dict[str, _Run], status: Plain, at: float) -> None:
    state = status.get("state") or {}
    if "running" in state and status.get("containerID"):
        runs.setdefault(status["containerID"], _Run(at))
    for ended in ((status.get("lastState") or {}).get("terminated"), state.get("terminated")):
        if not ended or not ended.get("containerID"):
            continue
        run = runs.setdefault(ended["containerID"], _Run(at - _length(ended)))
        if run.ended is None:
            run.ended, run.exit_code = at, int(ended.get("exitCode", 0))


def _script(life: _Life, runs: list[_Run]) -> Plain:
    script: Plain = {}
    if life.bound is not None:
        script["startSeconds"] = round(max(0.0, runs[0].began - life.bound), 2)
    own = []
    for run in runs:
        if run.ended is None:
            own.append(_run(None, 0))
        elif life.deleted is not None and run.ended >= life.deleted:
            own.append(_run(None, 0))
            script["stopSeconds"] = round(run.ended - max(life.deleted, run.began), 2)
            script["stopExitCode"] = run.exit_code
        else:
            own.append(_run(run.ended - run.began, run.exit_code))
    return script | {"runs": own}


def _run(seconds: float | None, exit_code: int) -> Plain:
    return {} if seconds is None else {"seconds": round(max(0.0, seconds), 2), "exitCode": exit_code}


def _length(ended: Plain) -> float:
    began, finished = ended.get("startedAt"), ended.get("finishedAt")
    if not began or not finished:
        return 0.0
    return (datetime.fromisoformat(finished) - datetime.fromisoformat(began)).total_seconds()
