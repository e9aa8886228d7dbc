"""Explanations of AdvancedCronJobs for ``podling why``. Pure, but for the collecting of facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Event
from podling.controllers.owner_references import controller_of
from podling.controllers.workloads.cronjob_rules import finished, next_run
from podling.extensions.explanations import Explanation, Question, Source
from podling.machinery import cron
from podling.machinery.cron import ScheduleError
from podling_kruise.advancedcronjob.job_plan import scheduled_at
from podling_kruise.advancedcronjob.types import (
    BROADCAST_JOB,
    IMAGE_LIST_PULL_JOB,
    JOB,
    AdvancedCronJob,
)
from podling_kruise.broadcastjob.types import BroadcastJob
from podling_kruise.imagelistpull.types import ImageListPullJob

KINDS: dict[str, type[Any]] = {
    JOB: Job,
    BROADCAST_JOB: BroadcastJob,
    IMAGE_LIST_PULL_JOB: ImageListPullJob,
}
LOOK = {JOB: "job/", BROADCAST_JOB: "bcj/", IMAGE_LIST_PULL_JOB: "imagelistpulljob/"}
"""The jobs of each kind, as ``podling why`` takes them."""
NOT_STARTED = {
    "FailedCreate": "Change the template of the job so that the API server takes it.",
    "MissSchedule": "Raise spec.startingDeadlineSeconds: the controller came later than that.",
    "TooManyMissedTimes": "Set or lower spec.startingDeadlineSeconds.",
}
"""Events about a run that did not begin, and the advice."""


class Facts(Struct, frozen=True):
    """An AdvancedCronJob, its jobs in the order of their runs, its events, and the next run."""

    owner: AdvancedCronJob
    jobs: Sequence[Any]
    events: Sequence[Event]
    now: datetime

    @property
    def name(self) -> str:
        return f"AdvancedCronJob {self.owner.metadata.name}"

    @property
    def where(self) -> str:
        return f"-n {self.owner.metadata.namespace}"


async def explain(question: Question) -> Explanation:
    """Return the answer for an AdvancedCronJob. Raises ``ApiError``."""
    owner = await question.client.get(AdvancedCronJob, question.name, question.namespace)
    kind = KINDS[owner.spec.template.kind]
    listed = (await question.client.list(kind, question.namespace)).items
    jobs = [job for job in listed if _is_owned(job, owner) and scheduled_at(job) is not None]
    jobs.sort(key=lambda job: (scheduled_at(job), job.metadata.name))
    return explain_cron_job(Facts(owner, jobs, await question.events(owner), question.now))


def _is_owned(job: Any, owner: AdvancedCronJob) -> bool:
    reference = controller_of(job)
    return reference is not None and reference.uid == owner.metadata.uid


def explain_cron_job(facts: Facts) -> Explanation:
    """Return why runs do not begin, or fail."""
    spec = facts.owner.spec
    if spec.paused:
        return _paused(facts)
    try:
        schedule = cron.parse(spec.schedule, cron.time_zone(spec.time_zone))
    except ScheduleError as error:
        return _never(facts, f"its schedule cannot be read: {error}")
    following = next_run(facts.owner, schedule, facts.now)
    if following is None:
        return _never(facts, f'"{spec.schedule}" is never due')
    return _held_by_run(facts) or _not_started(facts) or _failed_run(facts) or _well(facts, following)


def _paused(facts: Facts) -> Explanation:
    own = f"{facts.owner.metadata.name} {facts.where}"
    advice = f"""Let it go on: kubectl patch acj {own} --type merge -p '{{"spec":{{"paused":false}}}}'"""
    source = Source(kind="spec", name="spec.paused", detail="true")
    return _answer("Paused", f"{facts.name} is paused, so no run begins.", advice, source)


def _never(facts: Facts, why: str) -> Explanation:
    advice = "Correct spec.schedule: minute, hour, day of the month, month, day of the week."
    source = Source(kind="spec", name="spec.schedule", detail=facts.owner.spec.schedule)
    return _answer("InvalidSchedule", f"{facts.name} starts no run: {why}.", advice, source)


def _last(facts: Facts, *reasons: str) -> Event | None:
    """Return the newest such event since the last run began."""
    began = facts.owner.status.last_schedule_time
    for event in reversed(facts.events):
        moment = event.last_timestamp
        if event.reason in reasons and (began is None or moment is None or moment >= began):
            return event
    return None


def _held_by_run(facts: Facts) -> Explanation | None:
    event, active = _last(facts, "JobAlreadyActive"), facts.owner.status.active
    if event is None or not active:
        return None
    kind, name = active[0].kind, active[0].name
    text = f"{facts.name} starts no run while {kind} {name} is active (concurrencyPolicy Forbid)."
    look = f"podling why {LOOK[kind]}{name} {facts.where}"
    return _answer("JobAlreadyActive", text, look, _source(event))


def _not_started(facts: Facts) -> Explanation | None:
    event = _last(facts, *NOT_STARTED)
    if event is None:
        return None
    text = f"{facts.name} did not start a run: {event.message}."
    return _answer(event.reason, text, NOT_STARTED[event.reason], _source(event))


def _failed_run(facts: Facts) -> Explanation | None:
    """Return that the newest run failed."""
    if not facts.jobs:
        return None
    newest = facts.jobs[-1]
    found = finished(newest)
    if found is None or found.type != "Failed":
        return None
    name = newest.metadata.name
    text = f"The newest run of {facts.name} is {newest.kind} {name}, which failed: {found.message}."
    source = Source(kind="condition", name="Failed", detail=f"True ({found.reason}: {found.message})")
    return _answer("RunFailed", text, f"podling why {LOOK[newest.kind]}{name} {facts.where}", source)


def _well(facts: Facts, following: datetime) -> Explanation:
    last = facts.owner.status.last_schedule_time
    before = f"its last run was due at {_written(last)}" if last is not None else "it has had no run yet"
    text = f"Nothing is wrong: {facts.name} runs next at {_written(following)}; {before}."
    return Explanation(healthy=True, area="none", reason="Ready", text=text)


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _source(event: Event) -> Source:
    return Source(kind="event", name=event.reason, detail=event.message, last=event.last_timestamp)


def _answer(reason: str, text: str, advice: str, *evidence: Source) -> Explanation:
    return Explanation(area="workload", reason=reason, text=text, advice=advice, evidence=evidence)
