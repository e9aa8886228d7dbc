"""CronJobs whose runs do not begin, or whose newest run has a problem. Pure.

Upstream: ``pkg/controller/cronjob/cronjob_controllerv2.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import Event
from podling.cli.evidence import Explanation, Source, event_source, one_line
from podling.cli.recorded_events import moment_of
from podling.controllers.workloads.cronjob_rules import next_run
from podling.machinery import cron
from podling.machinery.cron import Schedule, ScheduleError

NOT_STARTED = {
    "FailedCreate": "Change spec.jobTemplate so that the API server takes it.",
    "MissSchedule": "Raise spec.startingDeadlineSeconds: the controller came later than that.",
    "TooManyMissedTimes": "Set or lower spec.startingDeadlineSeconds.",
}
"""Events about a run that did not begin, and what to do."""


def explain_cron_job(
    cron_job: CronJob, jobs: Sequence[tuple[Job, Explanation]], events: Sequence[Event], now: datetime
) -> Explanation:
    """Return why runs do not begin, or fail. ``jobs``: its own, oldest first, with their explanations."""
    name = f"CronJob {cron_job.metadata.name}"
    spec = cron_job.spec
    if spec.suspend:
        return _suspended(cron_job, name)
    try:
        schedule = cron.parse(spec.schedule, cron.time_zone(spec.time_zone))
    except ScheduleError as error:
        return _never(name, f"its schedule cannot be read: {error}", cron_job)
    following = next_run(cron_job, schedule, now)
    if following is None:
        return _never(name, f'"{spec.schedule}" is never due', cron_job)
    return (
        _held_by_run(cron_job, name, jobs, events)
        or _not_started(cron_job, name, events)
        or _ailing_run(name, jobs)
        or _well(cron_job, name, schedule, following)
    )


def _suspended(cron_job: CronJob, name: str) -> Explanation:
    own = f"{cron_job.metadata.name} -n {cron_job.metadata.namespace}"
    return Explanation(
        area="workload",
        reason="Suspended",
        text=f"{name} is suspended, so no run begins.",
        advice=f"""Let it go on: kubectl patch cronjob {own} -p '{{"spec":{{"suspend":false}}}}'""",
        evidence=(Source(kind="spec", name="spec.suspend", detail="true"),),
    )


def _never(name: str, why: str, cron_job: CronJob) -> Explanation:
    return Explanation(
        area="workload",
        reason="InvalidSchedule",
        text=f"{name} starts no run: {why}.",
        advice="Correct spec.schedule: minute, hour, day of the month, month, day of the week.",
        evidence=(Source(kind="spec", name="spec.schedule", detail=cron_job.spec.schedule),),
    )


def _last(cron_job: CronJob, events: Sequence[Event], *reasons: str) -> Event | None:
    """Return the newest such event since the last run began."""
    began = cron_job.status.last_schedule_time
    for event in reversed(events):
        if event.reason in reasons and (began is None or moment_of(event) >= began):
            return event
    return None


def _held_by_run(
    cron_job: CronJob, name: str, jobs: Sequence[tuple[Job, Explanation]], events: Sequence[Event]
) -> Explanation | None:
    event = _last(cron_job, events, "JobAlreadyActive")
    if event is None or not cron_job.status.active:
        return None
    active = cron_job.status.active[0].name
    answer = next((answer for job, answer in jobs if job.metadata.name == active), None)
    ill = answer is not None and not answer.healthy
    text = f"{name} starts no run while Job {active} is active (concurrencyPolicy Forbid)."
    return Explanation(
        area="workload",
        reason="JobAlreadyActive",
        text=f"{text} {answer.text}" if ill and answer is not None else text,
        advice=f"podling why job/{active} -n {cron_job.metadata.namespace}",
        evidence=(event_source(event), *(answer.evidence if ill and answer is not None else ())),
    )


def _not_started(cron_job: CronJob, name: str, events: Sequence[Event]) -> Explanation | None:
    event = _last(cron_job, events, *NOT_STARTED)
    if event is None:
        return None
    reason = event.reason or ""
    return Explanation(
        area="workload",
        reason=reason,
        text=f"{name} did not start a run: {one_line(event.message)}.",
        advice=NOT_STARTED[reason],
        evidence=(event_source(event),),
    )


def _ailing_run(name: str, jobs: Sequence[tuple[Job, Explanation]]) -> Explanation | None:
    if not jobs or jobs[-1][1].healthy:
        return None
    job, answer = jobs[-1]
    return structs.replace(answer, text=f"The newest run of {name} is {job.metadata.name}: {answer.text}")


def _well(cron_job: CronJob, name: str, schedule: Schedule, following: datetime) -> Explanation:
    last = cron_job.status.last_schedule_time
    before = f"its last run was due at {_written(last)}" if last is not None else "it has had no run yet"
    text = f"Nothing is wrong: {name} runs next at {_written(following)}; {before}."
    return Explanation(healthy=True, area="none", reason="Ready", text=text)


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
