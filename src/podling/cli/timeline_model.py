"""A pod's life as lanes of spans and marks, from what the cluster recorded. Pure.

The node's own record of the pod knows every moment (``kubelet.lives``); where there is none, events and the
status have to do (``timeline_sources``). Either way a life comes as moments in order, and each lane is one
walk over its own: a moment begins a span, ends one, or is a mark. What nothing recorded is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct

from podling.kubelet.lives import Moment
from podling.machinery.tables import human_duration

SECOND = timedelta(seconds=1)


def duration(length: timedelta) -> str:
    """Format a duration as kubectl does; short ones in tenths of a second."""
    short = length < timedelta(seconds=10)
    return f"{length.total_seconds():.1f}s" if short else human_duration(length)


class Span(Struct, frozen=True, kw_only=True):
    """Something that lasted. ``kind``: ``scheduling``, ``waiting``, ``pulling``, ``running`` (not ready),
    ``ready``, ``backoff``, ``hook``, ``terminating``. ``open``: it still goes on."""

    kind: str
    start: datetime
    end: datetime
    text: str
    open: bool = False


class Mark(Struct, frozen=True, kw_only=True):
    """Something that happened at a moment, perhaps several times up to then.

    ``kind``: ``event``, ``probe``, ``signal``, ``end``."""

    at: datetime
    kind: str = "event"
    reason: str
    text: str
    warning: bool = False
    count: int = 1


class Lane(Struct, frozen=True, kw_only=True):
    """One row: the pod itself or one container. Later spans are drawn over earlier ones."""

    name: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


class Timeline(Struct, frozen=True, kw_only=True):
    """A pod's life from its creation to now, or to its end."""

    pod: str
    namespace: str
    status: str
    """The word that ``kubectl get`` shows; ``Deleted`` for a pod that is gone."""
    start: datetime
    end: datetime
    lanes: tuple[Lane, ...]


class Subject(Struct, frozen=True, kw_only=True):
    """The pod of a timeline, and its stage."""

    pod: str
    namespace: str
    status: str
    containers: tuple[str, ...]
    created: datetime
    over: bool = False
    """Nothing of it goes on."""
    deleted: datetime | None = None
    """The time when its deletion was requested."""


class Told(Struct, frozen=True, kw_only=True):
    """A moment, and the number of its occurrences up to then."""

    moment: Moment
    count: int = 1


def timeline(subject: Subject, told: Sequence[Told], now: datetime) -> Timeline:
    """Draw up what is known."""
    moments = sorted(told, key=lambda each: each.moment.at)
    start = _beginning(subject.created, moments)
    end = max((each.moment.at for each in moments), default=now) if subject.over else now
    end = max(end, start)
    lanes = [_pod_lane(subject, start, [each for each in moments if not each.moment.container], moments, end)]
    for name in subject.containers:
        lanes.append(
            _container_lane(name, [each for each in moments if each.moment.container == name], end, subject)
        )
    return Timeline(
        pod=subject.pod,
        namespace=subject.namespace,
        status=subject.status,
        start=start,
        end=end,
        lanes=tuple(lanes),
    )


def _beginning(created: datetime, moments: Sequence[Told]) -> datetime:
    """Return the start of the timeline: objects have whole seconds, moments seen within are more exact."""
    first = moments[0].moment.at if moments else created
    return first if created <= first < created + SECOND else created


def _pod_lane(
    subject: Subject, start: datetime, own: Sequence[Told], everything: Sequence[Told], end: datetime
) -> Lane:
    """Waiting for a node, waiting to be ready, Ready, going."""
    at_node = (
        each.moment.at for each in everything if _is_event(each, "Scheduled") or each.moment.kind == "waiting"
    )
    placed = min(at_node, default=None)
    spans = [
        Span(
            kind="scheduling",
            start=start,
            end=max(placed or end, start),
            text="waiting for a node",
            open=placed is None and not subject.over,
        )
    ]
    if placed is not None:
        waits = Span(kind="waiting", start=placed, end=end, text="not Ready", open=not subject.over)
        spans += [waits, *_flips(own, end, subject.over, "Ready")]
    if subject.deleted is not None:
        leaving = Span(kind="terminating", start=min(subject.deleted, end), end=end, text="Terminating")
        spans.append(leaving)
    return Lane(name="pod", spans=tuple(spans), marks=tuple(_marks(own)))


def _flips(own: Iterable[Told], end: datetime, over: bool, text: str) -> Iterator[Span]:
    """From each ``ready`` to the ``unready`` that takes it back."""
    since: datetime | None = None
    for each in own:
        if each.moment.kind == "ready" and since is None:
            since = each.moment.at
        elif each.moment.kind == "unready" and since is not None:
            yield Span(kind="ready", start=since, end=each.moment.at, text=text)
            since = None
    if since is not None:
        yield Span(kind="ready", start=since, end=end, text=text, open=not over)


def _container_lane(name: str, own: Sequence[Told], end: datetime, subject: Subject) -> Lane:
    walk = _Walk()
    for each in own:
        walk.step(each.moment)
    walk.close(end, over=subject.over)
    runs = [span for span in walk.spans if span.kind == "running"]
    flips = list(_flips(own, end, subject.over, "ready"))
    ready = [span for run in runs for flip in flips if (span := _within(flip, run)) is not None]
    hooks = [span for span in walk.spans if span.kind == "hook"]
    others = [span for span in walk.spans if span.kind not in ("running", "hook")]
    marks = sorted([*_marks(own), *walk.marks], key=lambda mark: mark.at)
    return Lane(name=name, spans=(*others, *runs, *ready, *hooks), marks=tuple(marks))


def _within(ready: Span, run: Span) -> Span | None:
    """Return the part of ``ready`` in one run: statuses are late, and call init containers ready after it."""
    start, end = max(ready.start, run.start), min(ready.end, run.end)
    if start >= end:
        return None
    return Span(kind="ready", start=start, end=end, text=ready.text, open=ready.open and run.open)


@dataclass
class _Walk:
    """Intervals of a container, open and ended, as its moments are read."""

    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    going: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    """Kind of span -> since when, and its text."""
    signalled: bool = False

    def step(self, moment: Moment) -> None:
        if moment.kind == "event":
            self._event(moment)
        elif moment.kind == "ended":
            self._ended(moment)
        elif moment.kind == "waiting" and moment.name.endswith("BackOff"):
            self._begin("backoff", moment.at, moment.name)
        elif moment.kind == "hook":
            self._begin("hook", moment.at, moment.name)
        elif moment.kind == "hook-end":
            failed = f" failed: {moment.text}" if moment.text else ""
            self._end("hook", moment.at, f"{moment.name}{failed}")
        elif moment.kind == "signal":
            self.signalled = True

    def _event(self, moment: Moment) -> None:
        if moment.name == "Pulling":
            self._end("backoff", moment.at)
            self._begin("pulling", moment.at, moment.text)
        elif moment.name in ("Pulled", "Failed"):
            self._end("pulling", moment.at, moment.text)
        elif moment.name == "Started":
            self._end("backoff", moment.at)
            self._end("running", moment.at)
            self._begin("running", moment.at, "running")
            self.signalled = False

    def _ended(self, moment: Moment) -> None:
        text = f"{moment.name or 'ended'}, exit code {moment.code}"
        killed = moment.code == 137 and moment.name != "OOMKilled" and self.signalled
        at, began = moment.at, self.going.get("running", (None, ""))[0]
        late = began is not None and moment.began is not None and moment.began + SECOND <= began
        before = next((span for span in reversed(self.spans) if span.kind == "running"), None)
        if late and before is not None:
            # The status reported this run when the next one was already running.
            self.spans[self.spans.index(before)] = _named(before, text)
            at = before.end
        elif began is not None:
            self._end("running", at, text)
        elif moment.began is not None:
            self.spans.append(Span(kind="running", start=moment.began, end=max(at, moment.began), text=text))
        if killed:
            self.marks.append(Mark(at=at, kind="signal", reason="SIGKILL", text="the grace period was over"))
        bad = moment.code != 0
        self.marks.append(Mark(at=at, kind="end", reason=moment.name or "Ended", text=text, warning=bad))

    def _begin(self, kind: str, at: datetime, text: str) -> None:
        self.going.setdefault(kind, (at, text))

    def _end(self, kind: str, at: datetime, text: str = "") -> None:
        since = self.going.pop(kind, None)
        if since is not None:
            self.spans.append(Span(kind=kind, start=since[0], end=max(at, since[0]), text=text or since[1]))

    def close(self, end: datetime, *, over: bool) -> None:
        """Close intervals without an end: they continue, or ended with the pod."""
        for kind, (since, text) in self.going.items():
            self.spans.append(Span(kind=kind, start=since, end=max(end, since), text=text, open=not over))
        self.going.clear()


def _named(span: Span, text: str) -> Span:
    return Span(kind=span.kind, start=span.start, end=span.end, text=text, open=span.open)


def _is_event(told: Told, reason: str) -> bool:
    return told.moment.kind == "event" and told.moment.name == reason


def _marks(own: Iterable[Told]) -> Iterator[Mark]:
    """Moments that are points: events, verdicts of probes, signals."""
    for told in own:
        moment = told.moment
        if moment.kind == "event":
            yield Mark(
                at=moment.at, reason=moment.name, text=moment.text, warning=moment.warning, count=told.count
            )
        elif moment.kind == "probe":
            text, bad = f"{moment.name} probe: {moment.text}", moment.text != "Success"
            yield Mark(at=moment.at, kind="probe", reason=f"Probe{moment.text}", text=text, warning=bad)
        elif moment.kind == "signal":
            yield Mark(at=moment.at, kind="signal", reason=moment.name, text=moment.text)
        elif moment.kind == "hook-end" and moment.text:
            text = f"{moment.name}: {moment.text}"
            yield Mark(at=moment.at, reason="HookFailed", text=text, warning=True)
