"""The jobs of an AdvancedCronJob: the status that follows from them, and the job of a run. Pure.

The run that is due, and the jobs beyond the history, are decided by ``cronjob_rules``.
Upstream: ``pkg/controller/advancedcronjob``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from podling.api.batch_v1 import Job
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.cronjob_rules import R, finished, reference
from podling_kruise.advancedcronjob.types import AdvancedCronJob, AdvancedCronJobStatus
from podling_kruise.broadcastjob.types import BroadcastJob
from podling_kruise.imagelistpull.types import ImageListPullJob

Run = Job | BroadcastJob | ImageListPullJob

SCHEDULED_AT = "apps.kruise.io/scheduled-at"
"""The annotation of jobs with the time that their run was due."""


def active(jobs: Iterable[R]) -> list[R]:
    """Return the jobs that are not over."""
    return [job for job in jobs if finished(job) is None]


def status_of(owner: AdvancedCronJob, jobs: Iterable[R]) -> AdvancedCronJobStatus:
    """Return the status that follows from the jobs.

    The time of the last run never moves back: its job may have been deleted.
    """
    known = list(jobs)
    times = [owner.status.last_schedule_time, *map(scheduled_at, known)]
    references = (reference(job) for job in active(known))
    return AdvancedCronJobStatus(
        type=owner.spec.template.kind,
        active=tuple(sorted(references, key=lambda each: each.name)),
        last_schedule_time=max((time for time in times if time is not None), default=None),
    )


def scheduled_at(job: ApiObject) -> datetime | None:
    """Return when the run of a job was due; None if the job does not say so."""
    text = job.metadata.annotations.get(SCHEDULED_AT, "")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def job_for(owner: AdvancedCronJob, time: datetime) -> Run:
    """Return the job of the run that is due at ``time``.

    Its name follows from the time, so that a run cannot be started twice.
    """
    template = owner.spec.template
    if template.job_template is not None:
        metadata = _metadata(owner, template.job_template.metadata, time)
        return Job(metadata=metadata, spec=template.job_template.spec)
    if template.broadcast_job_template is not None:
        metadata = _metadata(owner, template.broadcast_job_template.metadata, time)
        return BroadcastJob(metadata=metadata, spec=template.broadcast_job_template.spec)
    pulls = template.image_list_pull_job_template
    assert pulls is not None, "validation refuses an object without a template"
    return ImageListPullJob(metadata=_metadata(owner, pulls.metadata, time), spec=pulls.spec)


def _metadata(owner: AdvancedCronJob, given: ObjectMeta, time: datetime) -> ObjectMeta:
    return ObjectMeta(
        name=f"{owner.metadata.name}-{int(time.timestamp())}",
        namespace=owner.metadata.namespace,
        labels=dict(given.labels),
        annotations={**given.annotations, SCHEDULED_AT: _text(time)},
        owner_references=(controller_reference(owner),),
    )


def _text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
