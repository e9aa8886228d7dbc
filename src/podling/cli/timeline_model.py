"""A pod's life as lanes of spans and marks, from what the cluster recorded: pure.

The pod's status knows each container's present state and the one before; events know the rest, with the
first and the last time that the same thing happened. What neither recorded is not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import ContainerState, ContainerStatus, Event, Pod
from podling.cli.records import moment_of
from podling.machinery.pods import condition


class Span(Struct, frozen=True, kw_only=True):
    """Something that lasted. ``kind``: ``waiting``, ``scheduling``, ``pulling``, ``running``, ``backoff``,
    ``ready``, ``terminating``. ``open``: it still goes on."""

    kind: str
    start: datetime
    end: datetime
    text: str
    open: bool = False


class Mark(Struct, frozen=True, kw_only=True):
    """Something that happened at a moment, perhaps several times up to then."""

    at: datetime
    reason: str
    text: str
    warning: bool = False
    count: int = 1


class Lane(Struct, frozen=True, kw_only=True):
    """One row: the pod itself or one container."""

    name: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


class Timeline(Struct, frozen=True, kw_only=True):
    """A pod's life from its creation to now, or to its end."""

    pod: str
    start: datetime
    end: datetime
    lanes: tuple[Lane, ...]


def timeline(pod: Pod, events: Sequence[Event], now: datetime) -> Timeline:
    """Draw up what is known of ``pod``; ``events`` are its own, in any order."""
    start = pod.metadata.creation_timestamp or now
    end = max(_end(pod, events, now), start)
    told = sorted(events, key=moment_of)
    lanes = [Lane(name="pod", spans=tuple(_pod_spans(pod, start, end)), marks=_marks(told, ""))]
    statuses = {
        status.name: status
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    }
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        own = [event for event in told if _container_of(event) == container.name]
        spans = [*_pulls(own, end), *_runs(statuses.get(container.name), end)]
        ordered = tuple(sorted(spans, key=lambda span: (span.start, span.end)))
        lanes.append(Lane(name=container.name, spans=ordered, marks=_marks(own, container.name)))
    return Timeline(pod=pod.metadata.name or "", start=start, end=end, lanes=tuple(lanes))


def _end(pod: Pod, events: Sequence[Event], now: datetime) -> datetime:
    """Now for a pod that lives; the last thing that happened for one that is over."""
    if pod.status.phase not in ("Succeeded", "Failed"):
        return now
    moments = [moment_of(event) for event in events]
    moments += [
        ended.finished_at
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if (ended := status.state.terminated) is not None and ended.finished_at is not None
    ]
    return max(moments, default=now)


def _pod_spans(pod: Pod, start: datetime, end: datetime) -> Iterator[Span]:
    scheduled = condition(pod, "PodScheduled")
    bound = scheduled is not None and scheduled.status == "True"
    placed = (scheduled.last_transition_time if scheduled is not None and bound else None) or end
    yield Span(kind="scheduling", start=start, end=placed, text="waiting for a node", open=not bound)
    if not bound:
        return
    ready = condition(pod, "Ready")
    since = ready.last_transition_time if ready is not None else None
    if ready is not None and ready.status == "True" and since is not None:
        yield Span(kind="waiting", start=placed, end=since, text="not ready yet")
        yield Span(kind="ready", start=since, end=end, text="Ready", open=True)
    else:
        over = pod.status.phase in ("Succeeded", "Failed")
        reason = (ready.reason if ready is not None else "") or pod.status.phase or ""
        yield Span(kind="waiting", start=placed, end=end, text=reason, open=not over)
    leaving = pod.metadata.deletion_timestamp
    if leaving is not None:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        began = datetime.fromtimestamp(leaving.timestamp() - grace, leaving.tzinfo)
        yield Span(kind="terminating", start=max(began, start), end=end, text="Terminating", open=True)


def _runs(status: ContainerStatus | None, end: datetime) -> Iterator[Span]:
    """The run before this one, this one, and the pause between, as far as the status knows them."""
    if status is None:
        return
    before = _ended_run(status.last_state)
    if before is not None:
        yield before
    now = _ended_run(status.state)
    if now is not None:
        yield now
    running = status.state.running
    if running is not None and running.started_at is not None:
        if before is not None and before.end < running.started_at:
            yield Span(
                kind="backoff", start=before.end, end=running.started_at, text="waiting to be restarted"
            )
        yield Span(kind="running", start=running.started_at, end=end, text="running", open=True)
    waiting = status.state.waiting
    if waiting is not None and before is not None:
        yield Span(kind="backoff", start=before.end, end=end, text=waiting.reason or "waiting", open=True)


def _ended_run(state: ContainerState) -> Span | None:
    ended = state.terminated
    if ended is None or ended.started_at is None or ended.finished_at is None:
        return None
    text = f"{ended.reason or 'ended'}, exit code {ended.exit_code}"
    return Span(kind="running", start=ended.started_at, end=ended.finished_at, text=text)


def _pulls(events: Iterable[Event], end: datetime) -> Iterator[Span]:
    """From each ``Pulling`` to the ``Pulled`` or ``Failed`` that answers it."""
    began: datetime | None = None
    for event in events:
        if event.reason == "Pulling":
            began = moment_of(event)
        elif event.reason in ("Pulled", "Failed") and began is not None:
            yield Span(kind="pulling", start=began, end=moment_of(event), text=event.message or "")
            began = None
    if began is not None:
        yield Span(kind="pulling", start=began, end=end, text="pulling the image", open=True)


def _marks(events: Iterable[Event], container: str) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            at=moment_of(event),
            reason=event.reason or "",
            text=event.message or "",
            warning=event.type == "Warning",
            count=event.count or 1,
        )
        for event in events
        if _container_of(event) == container
    )


def _container_of(event: Event) -> str:
    """The container that an event is about, by its field path; empty for the pod."""
    match = re.fullmatch(r"spec\.\w*[cC]ontainers\{(.+)\}", event.involved_object.field_path or "")
    return match[1] if match else ""
