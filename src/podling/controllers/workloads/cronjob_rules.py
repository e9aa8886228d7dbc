"""The due run of a CronJob, and the old Jobs to delete. Pure.

The rules hold for objects of other kinds, too, that create jobs of their own by a schedule.
Upstream: ``pkg/controller/cronjob/utils.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from msgspec import Struct

from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_reference
from podling.machinery.cron import Schedule, ScheduleError, time_zone
from podling.machinery.moments import shifted

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MISSED_MAX = 100
SECOND = timedelta(seconds=1)


class ScheduledSpec(Protocol):
    @property
    def starting_deadline_seconds(self) -> int | None: ...
    @property
    def successful_jobs_history_limit(self) -> int | None: ...
    @property
    def failed_jobs_history_limit(self) -> int | None: ...


class ScheduledStatus(Protocol):
    @property
    def last_schedule_time(self) -> datetime | None: ...


class Scheduled(Protocol):
    """An object that creates jobs by a schedule."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> ScheduledSpec: ...
    @property
    def status(self) -> ScheduledStatus: ...


class Condition(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...


class RunStatus(Protocol):
    @property
    def conditions(self) -> Sequence[Condition]: ...
    @property
    def start_time(self) -> datetime | None: ...


class Run(ApiObject, Protocol):
    """A job of any kind."""

    @property
    def status(self) -> RunStatus: ...


R = TypeVar("R", bound=Run)


class Due(Struct, frozen=True):
    """The last run that should have begun, None if none; ``missed`` estimates those that did not."""

    time: datetime | None
    missed: int = 0


def earliest(cron_job: Scheduled, now: datetime) -> datetime:
    """From when on runs count: the last one, or the creation; not before the starting deadline."""
    start = cron_job.status.last_schedule_time or _created(cron_job)
    deadline = cron_job.spec.starting_deadline_seconds
    return max(start, shifted(now, -deadline)) if deadline is not None else start


def _created(cron_job: Scheduled) -> datetime:
    created = cron_job.metadata.creation_timestamp
    assert created is not None, "the API server gives every object its time of creation"
    return created


def due(cron_job: Scheduled, schedule: Schedule, now: datetime) -> Due:
    """Return the run that is due. Raises ``ScheduleError`` for a schedule that is never due."""
    return _due_since(earliest(cron_job, now), schedule, now)


def next_run(cron_job: Scheduled, schedule: Schedule, now: datetime) -> datetime | None:
    """Return when the next run is due; None for a schedule that never is.

    It follows the last run that was due, which matters for intervals (``@every 1h``).
    """
    start = cron_job.status.last_schedule_time or _created(cron_job)
    try:
        found = _due_since(start, schedule, now)
    except ScheduleError:
        found = Due(now)
    recent = found.time or (now if found.missed else start)
    following = schedule.next_after(recent)
    return following if following is None or following > now else schedule.next_after(now)


def _due_since(start: datetime, schedule: Schedule, now: datetime) -> Due:
    first = schedule.next_after(start)
    if first is not None and now < first:
        return Due(None)
    second = schedule.next_after(first) if first is not None else None
    if second is not None and now < second:
        return Due(first, 1)
    between = round((second - first) / SECOND) if first is not None and second is not None else 0
    if first is None or between < 1:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    missed = int((now - first) / SECOND) // between + 1
    # Begin two intervals early: an uneven schedule may have been due since. If it was not, no run is due.
    latest, time = None, schedule.next_after(first + timedelta(seconds=(missed - 2) * between))
    while time is not None and time <= now:
        latest, time = time, schedule.next_after(time)
    return Due(latest, missed)


def is_too_late(cron_job: Scheduled, time: datetime, now: datetime) -> bool:
    deadline = cron_job.spec.starting_deadline_seconds
    return deadline is not None and shifted(time, deadline) < now


def missed_text(time: datetime) -> str:
    """Return the message about a run that would begin too late."""
    return f"Missed scheduled time to start a job: {time.strftime('%a, %d %b %Y %H:%M:%S +0000')}"


def finished(job: Run) -> Condition | None:
    """Return the condition that says that the job is over, or None."""
    over = (each for each in job.status.conditions if each.type in ("Complete", "Failed"))
    return next((each for each in over if each.status == "True"), None)


def job_name(cron_job: CronJob, time: datetime) -> str:
    """One name per scheduled minute: the same run cannot be started twice."""
    return f"{cron_job.metadata.name}-{int(time.timestamp()) // 60}"


def job_for(cron_job: CronJob, time: datetime) -> Job:
    """Return the job of the run scheduled at ``time``; a zone in the schedule itself does not count."""
    template = cron_job.spec.job_template
    local = (
        time.astimezone(time_zone(cron_job.spec.time_zone))
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z")
    )
    return Job(
        metadata=ObjectMeta(
            name=job_name(cron_job, time),
            namespace=cron_job.metadata.namespace,
            labels=dict(template.metadata.labels),
            annotations={**template.metadata.annotations, SCHEDULED_AT: local},
            owner_references=(controller_reference(cron_job),),
        ),
        spec=template.spec,
    )


def reference(job: ApiObject) -> ObjectReference:
    """Return the reference to an active Job in a CronJob's status."""
    metadata = job.metadata
    return ObjectReference(
        api_version=job.api_version,
        kind=job.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def surplus(cron_job: Scheduled, jobs: Iterable[R]) -> list[R]:
    """Return the finished jobs beyond the history that is kept, oldest first."""
    spec = cron_job.spec
    limits = {"Complete": spec.successful_jobs_history_limit, "Failed": spec.failed_jobs_history_limit}
    groups: dict[str, list[R]] = {"Complete": [], "Failed": []}
    for job in jobs:
        condition = finished(job)
        if condition is not None:
            groups[condition.type].append(job)
    doomed: list[R] = []
    for type_, limit in limits.items():
        if limit is not None:
            group = by_start(groups[type_])
            doomed += group[: max(0, len(group) - limit)]
    return doomed


def by_start(jobs: Iterable[R]) -> list[R]:
    """Return the jobs in the order of their start, those that never started last."""
    return sorted(jobs, key=_start)


def _start(job: Run) -> tuple[bool, datetime, str]:
    start = job.status.start_time
    return start is None, start or datetime.max.replace(tzinfo=UTC), job.metadata.name or ""
