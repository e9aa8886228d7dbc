"""Sources of a timeline's moments: the node's record, else events and status.

Pure but for ``recorded_life``, which reads files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from podling.api.core_v1 import ContainerStatus, Event, Pod
from podling.apiserver.kinds.pod.pod_table import status_word
from podling.cli.evidence import container_of
from podling.cli.recorded_events import NEVER, moment_of
from podling.cli.timeline_model import Subject, Told
from podling.kubelet.lives import LIVES, Beginning, Moment, read_life
from podling.machinery.moments import shifted
from podling.machinery.pods import condition, is_terminal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KUBELET = "kubelet"

Life = tuple[Beginning, list[Moment]]


def recorded_life(nodes: Iterable[Path], *, uid: str = "", pod: str = "") -> Life | None:
    """The newest record of a pod, by UID or else by namespace and name, on the nodes in these directories."""
    files = [file for node in nodes for file in (node / "kubelet" / LIVES).glob(f"{uid or '*'}.jsonl")]
    for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
        try:
            life = read_life(file)
        except (OSError, ValueError, msgspec.MsgspecError):
            continue
        if uid or life[0].pod == pod:
            return life
    return None


def subject_of(pod: Pod, now: datetime) -> Subject:
    """Return a pod that the API knows."""
    metadata = pod.metadata
    running = any(
        s.state.running for s in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    deleted = metadata.deletion_timestamp
    grace = metadata.deletion_grace_period_seconds or 0
    return Subject(
        pod=metadata.name or "",
        namespace=metadata.namespace or "",
        status=status_word(pod),
        containers=tuple(c.name for c in (*pod.spec.init_containers, *pod.spec.containers)),
        created=metadata.creation_timestamp or now,
        over=is_terminal(pod) and not running and deleted is None,
        deleted=shifted(deleted, -grace) if deleted is not None else None,
    )


def departed(name: str, namespace: str, events: Sequence[Event], life: Life | None) -> Subject | None:
    """Return a deleted pod from its records; None without any."""
    if not events and life is None:
        return None
    names = life[0].containers if life is not None else tuple(dict.fromkeys(map(container_of, events)))
    first = min((at for event in events if (at := first_moment(event)) > NEVER), default=None)
    created = (life[0].created if life is not None else None) or first or EPOCH
    deleted = [m.at for m in (life[1] if life is not None else []) if m.text.startswith("Stopping container")]
    return Subject(
        pod=name,
        namespace=namespace,
        status="Deleted",
        containers=tuple(filter(None, names)),
        created=created,
        over=True,
        deleted=min(deleted, default=None),
    )


def told(pod: Pod | None, events: Sequence[Event], life: Life | None) -> list[Told]:
    """Return all moments: the record's, and what only others know: the scheduler, controllers."""
    if life is not None:
        foreign = [event for event in events if _component(event) != KUBELET]
        return [*(Told(moment=moment) for moment in life[1]), *from_events(foreign)]
    moments = list(from_events(events))
    if pod is not None:
        moments += from_status(pod, moments)
    return moments


def _component(event: Event) -> str:
    return event.reporting_component or event.source.component


def first_moment(event: Event) -> datetime:
    """Return the first time of an event, to the microsecond if its name has it (as client-go's do)."""
    said = event.first_timestamp or event.event_time or moment_of(event)
    digits = (event.metadata.name or "").rpartition(".")[2]
    try:
        named = EPOCH + timedelta(microseconds=int(digits, 16) // 1000)
    except (ValueError, OverflowError):
        return said
    return named if abs(named - said) < timedelta(seconds=2) else said


def from_events(events: Iterable[Event]) -> Iterator[Told]:
    """Return events as moments; a repeated one as its first and its last."""
    for event in events:
        count = (event.series.count if event.series is not None else event.count) or 1
        times = [(first_moment(event), 1)]
        if count > 1:
            times.append((moment_of(event), count))
        for at, number in times:
            kept = Moment(
                at=at,
                kind="event",
                name=event.reason or "",
                container=container_of(event),
                text=event.message or "",
                warning=event.type == "Warning",
            )
            yield Told(moment=kept, count=number)


def from_status(pod: Pod, events: Sequence[Told]) -> Iterator[Told]:
    """Return moments from the status: the present run, the one before, and readiness."""
    ready = condition(pod, "Ready")
    if ready is not None and ready.status == "True" and ready.last_transition_time is not None:
        yield Told(moment=Moment(at=ready.last_transition_time, kind="ready"))
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.status == "True" and scheduled.last_transition_time is not None:
        yield Told(moment=Moment(at=scheduled.last_transition_time, kind="waiting"))
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        for moment in _of_container(status):
            started = moment.kind == "event"
            if not started or not any(_same_start(moment, each.moment) for each in events):
                yield Told(moment=moment)


def _same_start(moment: Moment, other: Moment) -> bool:
    alike = (other.name, other.container) == (moment.name, moment.container)
    return alike and abs(other.at - moment.at) < timedelta(seconds=2)


def _of_container(status: ContainerStatus) -> Iterator[Moment]:
    name = status.name
    for ended in (status.last_state.terminated, status.state.terminated):
        if ended is not None and ended.finished_at is not None:
            reason, began = ended.reason or "", ended.started_at
            kept = Moment(
                at=ended.finished_at,
                kind="ended",
                name=reason,
                container=name,
                code=ended.exit_code,
                began=began,
            )
            yield kept
    if status.state.running is not None and status.state.running.started_at is not None:
        at = status.state.running.started_at
        yield Moment(at=at, kind="event", name="Started", container=name, text="Container started")
        if status.ready:
            yield Moment(at=at, kind="ready", container=name)
    waiting = status.state.waiting
    last = status.last_state.terminated
    if waiting is not None and waiting.reason and last is not None and last.finished_at is not None:
        yield Moment(at=last.finished_at, kind="waiting", name=waiting.reason, container=name)
