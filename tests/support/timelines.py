"""Lives of pods for tests of timelines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from podling.cli.timeline_model import Lane, Subject, Timeline, Told, timeline
from podling.kubelet.lives import Moment

BORN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def when(seconds: float) -> datetime:
    return BORN + timedelta(seconds=seconds)


def moment(seconds: float, kind: str, name: str = "", container: str = "main", **more: Any) -> Moment:
    return Moment(at=when(seconds), kind=kind, name=name, container=container, **more)


def event(seconds: float, name: str, container: str = "main", **more: Any) -> Moment:
    return moment(seconds, "event", name, container, text=f"{name} & <said>", **more)


def life(*moments: Moment, now: float = 60, **subject: Any) -> Timeline:
    fixed: dict[str, Any] = {
        "pod": "web",
        "namespace": "shop",
        "status": "Running",
        "containers": ("main",),
        "created": BORN,
    }
    return timeline(Subject(**(fixed | subject)), [Told(moment=each) for each in moments], when(now))


def spans(lane: Lane) -> list[tuple[str, float, float]]:
    """Return each span's kind, start and end in seconds."""
    return [
        (span.kind, (span.start - BORN).total_seconds(), (span.end - BORN).total_seconds())
        for span in lane.spans
    ]


def marks(lane: Lane, kind: str) -> list[tuple[str, float]]:
    return [(mark.reason, (mark.at - BORN).total_seconds()) for mark in lane.marks if mark.kind == kind]


SCHEDULED = event(2, "Scheduled", "")


def ended(seconds: float, code: int, began: float, name: str = "Error") -> Moment:
    return moment(seconds, "ended", name, code=code, began=when(began))


def everything() -> Timeline:
    """Return a life with every kind of span and mark."""
    return life(
        SCHEDULED,
        event(3, "Pulling"),
        event(6, "Pulled"),
        event(7, "Started"),
        moment(7, "hook", "postStart"),
        moment(9, "hook-end", "postStart"),
        moment(11, "ready"),
        moment(11, "ready", container=""),
        event(15, "Unhealthy", warning=True),
        ended(20, 3, 7),
        moment(20, "waiting", "CrashLoopBackOff"),
        event(30, "Started"),
        moment(40, "signal", "SIGTERM"),
        ended(50, 137, 30),
        deleted=when(40),
    )
