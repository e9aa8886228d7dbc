"""A record of each pod's life on this node: every moment, with exact times and in order.

Events are folded, rate-limited, cut to whole seconds and deleted after an hour; a status holds one run before
the present one. A timeline needs more, so the kubelet keeps a file for each pod with a line for each moment:
events, starts and ends of containers, verdicts of probes, hooks, signals, readiness. No decision depends on
these files; a line that cannot be written is dropped.

The files outlast the kubelet and the pods. The newest ``FILES_MAX`` files are kept, each with its newest
moments.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

import msgspec
from msgspec import Struct

from podling import clock
from podling.api.core_v1 import ContainerStatus, Pod, PodStatus
from podling.client.events import Regarding
from podling.kubelet.deps import Recorder

LIVES = "lives"
"""The folder of the records, in the kubelet's own folder."""
FILES_MAX = 500
MOMENTS_MAX = 1000
REPEATING = ("Unhealthy", "BackOff", "FailedMount", "Failed")
"""Reasons of events that repeat; an event is kept only when its message changes."""


NOTICED_LATE = timedelta(seconds=2)


class Moment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One moment of a pod's life.

    ``kind``: ``event`` (``name`` is its reason), ``ended`` (a run; ``name`` is why, ``code`` its exit code),
    ``waiting`` (``name`` is the reason), ``ready`` and ``unready`` (of the pod where no container is named),
    ``probe`` (``name`` is the kind of probe, ``text`` the verdict), ``hook`` and ``hook-end`` (``name`` is
    postStart or preStop, ``text`` the error), ``signal`` (``name`` is the signal).
    """

    at: datetime
    kind: str
    name: str = ""
    container: str = ""
    text: str = ""
    warning: bool = False
    code: int = 0
    began: datetime | None = None
    """The start of the run that ended."""


class Beginning(Struct, frozen=True, kw_only=True):
    """The first line of a record: the identity of its pod."""

    pod: str
    """Namespace and name."""
    uid: str
    created: datetime | None = None
    containers: tuple[str, ...] = ()
    """Names in the order of the spec, init containers first."""


@runtime_checkable
class KeepsLives(Protocol):
    """A recorder that keeps moments of pods' lives as well as events."""

    def note(self, pod: Pod, moment: Moment) -> None: ...


def _keeps_lives(recorder: Recorder) -> TypeGuard[KeepsLives]:
    return _is_for_lives(type(recorder))


@cache
def _is_for_lives(kind: type) -> bool:
    """Remembered for each class: before Python 3.12 a check of a protocol costs as much as an event."""
    return issubclass(kind, KeepsLives)


def note(
    recorder: Recorder, pod: Pod, kind: str, name: str = "", *, container: str = "", text: str = ""
) -> None:
    """Keep a moment, if this recorder does. Never waits, never raises."""
    if _keeps_lives(recorder):
        recorder.note(pod, Moment(at=clock.now(), kind=kind, name=name, container=container, text=text))


def note_changes(recorder: Recorder, pod: Pod, before: PodStatus, after: PodStatus) -> None:
    """Keep the changes of a new status: runs that ended, waiting, readiness."""
    if before is after or not _keeps_lives(recorder):
        return
    for moment in moments_between(before, after, clock.now()):
        recorder.note(pod, moment)


def moments_between(before: PodStatus, after: PodStatus, now: datetime) -> Iterator[Moment]:
    """Yield the moments between two statuses of a pod."""
    old = {status.name: status for status in _all(before)}
    for status in _all(after):
        yield from _container_changes(old.get(status.name), status, now)
    if _ready(before) != _ready(after):
        yield Moment(at=now, kind="ready" if _ready(after) else "unready")


def _container_changes(old: ContainerStatus | None, new: ContainerStatus, now: datetime) -> Iterator[Moment]:
    known = [state.terminated for state in (old.state, old.last_state)] if old is not None else []
    for ended in (new.last_state.terminated, new.state.terminated):
        if ended is not None and all(
            each is None or each.container_id != ended.container_id for each in known
        ):
            yield Moment(
                at=_moment(ended.finished_at, now),
                kind="ended",
                name=ended.reason or "",
                container=new.name,
                text=ended.message or "",
                code=ended.exit_code,
                began=ended.started_at,
            )
    reason = new.state.waiting.reason if new.state.waiting is not None else None
    if reason and (old is None or old.state.waiting is None or old.state.waiting.reason != reason):
        yield Moment(at=now, kind="waiting", name=reason, container=new.name)
    if new.ready != (old is not None and old.ready):
        yield Moment(at=now, kind="ready" if new.ready else "unready", container=new.name)


def _moment(said: datetime | None, now: datetime) -> datetime:
    """Return the time of an end: now, as statuses have whole seconds only, unless it was seen late."""
    return now if said is None or now - said < NOTICED_LATE else said


def _all(status: PodStatus) -> tuple[ContainerStatus, ...]:
    return (*status.init_container_statuses, *status.container_statuses)


def _ready(status: PodStatus) -> bool:
    return any(item.type == "Ready" and item.status == "True" for item in status.conditions)


class LifeRecorder:
    """Passes events to ``inner``, and keeps them with all other moments in files in ``folder``."""

    def __init__(self, inner: Recorder, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        self._lines: OrderedDict[str, int] = OrderedDict()
        self._messages: dict[str, dict[tuple[str, str], str]] = {}
        self._files: int | None = None
        """The number of records; None until they were counted."""

    def event(self, obj: Regarding, type: str, reason: str, message: str, *, field_path: str = "") -> None:
        self._inner.event(obj, type, reason, message, field_path=field_path)
        self._keep(obj, type, reason, message, field_path)

    def annotated_event(
        self, obj: Regarding, annotations: Mapping[str, str], type: str, reason: str, message: str
    ) -> None:
        self._inner.annotated_event(obj, annotations, type, reason, message)
        self._keep(obj, type, reason, message)

    def _keep(self, obj: Regarding, type: str, reason: str, message: str, field_path: str = "") -> None:
        if not isinstance(obj, Pod):
            return
        container = field_path.partition("{")[2].removesuffix("}")
        last_messages = self._messages.setdefault(obj.metadata.uid or "", {})
        if reason in REPEATING and last_messages.get((container, reason)) == message:
            return
        last_messages[container, reason] = message
        warning = type == "Warning"
        kept = Moment(
            at=clock.now(), kind="event", name=reason, container=container, text=message, warning=warning
        )
        self.note(obj, kept)

    def note(self, pod: Pod, moment: Moment) -> None:
        uid = pod.metadata.uid or ""
        file = self._folder / f"{uid}.jsonl"
        with suppress(OSError):
            count = self._lines.get(uid)
            text = b"" if count is not None else self._open(file, pod)
            if count is None:
                count = 0 if text else file.read_bytes().count(b"\n")
            if count >= MOMENTS_MAX:
                count = _halve(file)
            _append(file, text + msgspec.json.encode(moment) + b"\n")
            self._lines[uid] = count + 1
            self._lines.move_to_end(uid)

    def _open(self, file: Path, pod: Pod) -> bytes:
        """Return the first line of a new record; empty for a record that is continued."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(self._lines) >= FILES_MAX:
            gone, _ = self._lines.popitem(last=False)
            self._messages.pop(gone, None)
        if file.exists():
            return b""
        self._forget_the_oldest()
        metadata = pod.metadata
        names = tuple(c.name for c in (*pod.spec.init_containers, *pod.spec.containers))
        beginning = Beginning(
            pod=f"{metadata.namespace}/{metadata.name}",
            uid=metadata.uid or "",
            created=metadata.creation_timestamp,
            containers=names,
        )
        return msgspec.json.encode(beginning) + b"\n"

    def _forget_the_oldest(self) -> None:
        """Count one more record; remove the oldest ones, several at a time, when there are too many."""
        if self._files is not None and self._files < FILES_MAX:
            self._files += 1
            return
        files = sorted(self._folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        kept = FILES_MAX - 1 if len(files) < FILES_MAX else FILES_MAX - 1 - FILES_MAX // 10
        for file in files[: max(0, len(files) - kept)]:
            file.unlink(missing_ok=True)
        self._files = min(len(files), kept) + 1


def _append(file: Path, data: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _halve(file: Path) -> int:
    """Drop the older half of a record's moments; return the number of lines left."""
    beginning, *moments = file.read_bytes().splitlines(keepends=True)
    kept = [beginning, *moments[len(moments) // 2 :]]
    file.write_bytes(b"".join(kept))
    return len(kept)


def read_life(file: Path) -> tuple[Beginning, list[Moment]]:
    """Return a record; skips a line that was written partly. Raises ``OSError``, ``ValueError``."""
    first, *rest = file.read_bytes().splitlines()
    moments = []
    for line in rest:
        with suppress(msgspec.DecodeError):
            moments.append(msgspec.json.decode(line, type=Moment))
    return msgspec.json.decode(first, type=Beginning), moments
