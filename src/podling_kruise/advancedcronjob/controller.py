"""AdvancedCronJobs: Jobs, BroadcastJobs and ImageListPullJobs by a schedule.

Flow: the status follows from the jobs that there are; finished ones beyond the history are deleted; the run
that is due is started, at most one, as CronJobs start it. A run's job is named by its time, so no run is ever
started twice.
Upstream: ``pkg/controller/advancedcronjob``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.batch_v1 import Job
from podling.client.base import Client, Key, key_of
from podling.client.events import EventRecorder
from podling.client.informer import revision_number
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.owner_references import is_controlled_by
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads import cronjob_rules as rules
from podling.controllers.workloads.cronjob import FORBIDDEN, SLACK_SECONDS, TOO_MANY
from podling.machinery import cron
from podling.machinery.cron import Schedule, ScheduleError
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling_kruise.advancedcronjob.job_plan import active, job_for, status_of
from podling_kruise.advancedcronjob.types import (
    BROADCAST_JOB,
    FORBID,
    IMAGE_LIST_PULL_JOB,
    JOB,
    REPLACE,
    AdvancedCronJob,
)
from podling_kruise.broadcastjob.types import BroadcastJob
from podling_kruise.imagelistpull.types import ImageListPullJob

JobChildren = Children[AdvancedCronJob, Any]


class JobWrites:
    """Creates and deletes the jobs of one kind, with events about their owners."""

    def __init__(self, client: Client, recorder: EventRecorder, kind: type[Any], jobs: JobChildren) -> None:
        self._client, self._recorder = client, recorder
        self._kind, self._jobs = kind, jobs

    def owned(self, owner: AdvancedCronJob) -> list[Any]:
        return list(self._jobs.owned(owner))

    def settled(self, key: Key) -> bool:
        """Return whether the informer shows everything that was written."""
        return self._jobs.settled(key)

    async def create(self, owner: AdvancedCronJob, time: datetime) -> None:
        """Start a run. Raises what the request raises."""
        wanted = job_for(owner, time)
        name, namespace = wanted.metadata.name or "", wanted.metadata.namespace
        try:
            job: Any = await self._client.create(wanted)
        except ApiError as error:
            if is_namespace_terminating(error):
                return
            if not is_already_exists(error):
                text = f"Error creating job: {error}"
                self._recorder.event(owner, "Warning", "FailedCreate", text)
                raise
            job = await self._client.get(self._kind, name, namespace)
            if not is_controlled_by(job, owner):
                return  # another's job has the name
        self._jobs.wrote(key_of(owner), job)
        self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created job {name}")

    async def delete(self, owner: AdvancedCronJob, job: Any) -> None:
        """Delete a job that is not being deleted. Raises what the request raises, unless the job is gone."""
        metadata = job.metadata
        if metadata.deletion_timestamp is not None:
            return
        try:
            await self._client.delete(
                self._kind,
                metadata.name or "",
                metadata.namespace,
                uid=metadata.uid or "",
                propagation="Background",
            )
        except ApiError as error:
            if is_not_found(error):
                return
            self._recorder.event(owner, "Warning", "FailedDelete", f"Deleted job: {error}")
            raise
        self._jobs.deleted(key_of(owner), job)
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted job {metadata.name}")


class AdvancedCronJobController(Controller):
    """One key for each AdvancedCronJob."""

    name: ClassVar[str] = "advancedcronjob-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder(self.name)
        self._owners = context.informers.informer(AdvancedCronJob)
        self._owners.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._status_revisions: dict[Key, int] = {}
        self._jobs = {
            JOB: self._writes(context, Job),
            BROADCAST_JOB: self._writes(context, BroadcastJob),
            IMAGE_LIST_PULL_JOB: self._writes(context, ImageListPullJob),
        }

    def _writes(self, context: ControllerContext, kind: type[Any]) -> JobWrites:
        informer = context.informers.informer(kind)
        children: JobChildren = Children(
            context.client, self._owners, informer, self.queue, lambda owner: None
        )
        return JobWrites(context.client, self._recorder, kind, children)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._owners.get(key)
        if owner is None:
            self._status_revisions.pop(key, None)
            return AwaitChange()
        writes = self._jobs[owner.spec.template.kind]
        if not writes.settled(key) or self._owners.revision < self._status_revisions.get(key, 0):
            return AwaitChange()  # our own writes are still on their way, and will wake us
        jobs = writes.owned(owner)
        owner = await self._with_status(owner, jobs)
        for job in rules.surplus(owner, jobs):
            with suppress(ApiError):  # a job that cannot be deleted does not hold up the schedule
                await writes.delete(owner, job)
        if owner.metadata.deletion_timestamp is not None or owner.spec.paused:
            return AwaitChange()
        schedule = self._schedule(owner)
        if schedule is None:
            return AwaitChange()
        now = clock.now()
        await self._start(owner, writes, active(jobs), schedule, now)
        following = rules.next_run(owner, schedule, now)
        if following is None:
            return AwaitChange()
        return RequeueAfter((following - now) / timedelta(seconds=1) + SLACK_SECONDS)

    async def _with_status(self, owner: AdvancedCronJob, jobs: Sequence[Any]) -> AdvancedCronJob:
        """Return the object with the status that follows from its jobs, written if it is new."""
        status = status_of(owner, jobs)
        if status == owner.status:
            return owner
        written = await self.write_status(structs.replace(owner, status=status))
        self._status_revisions[key_of(owner)] = revision_number(written)
        return structs.replace(owner, status=status)

    def _schedule(self, owner: AdvancedCronJob) -> Schedule | None:
        """Return the schedule; None, with an event, for one that cannot be read."""
        spec = owner.spec
        try:
            zone = cron.time_zone(spec.time_zone)
        except ScheduleError as error:
            text = f'invalid timeZone: "{spec.time_zone}": {error}'
            self._recorder.event(owner, "Warning", "UnknownTimeZone", text)
            return None
        try:
            return cron.parse(spec.schedule, zone)
        except ScheduleError as error:
            text = f'unparseable schedule: "{spec.schedule}" : {error}'
            self._recorder.event(owner, "Warning", "UnparseableSchedule", text)
            return None

    async def _start(
        self,
        owner: AdvancedCronJob,
        writes: JobWrites,
        running: Sequence[Any],
        schedule: Schedule,
        now: datetime,
    ) -> None:
        """Start the run that is due, if one is and its policy allows it."""
        try:
            due = rules.due(owner, schedule, now)
        except ScheduleError as error:
            text = f"invalid schedule: {owner.spec.schedule} : {error}"
            self._recorder.event(owner, "Warning", "InvalidSchedule", text)
            return
        if due.time is None:
            return
        if due.missed > rules.MISSED_MAX:
            self._recorder.event(owner, "Warning", "TooManyMissedTimes", TOO_MANY)
        if rules.is_too_late(owner, due.time, now):
            self._recorder.event(owner, "Warning", "MissSchedule", rules.missed_text(due.time))
            return
        if running and owner.spec.concurrency_policy == FORBID:
            self._recorder.event(owner, "Normal", "JobAlreadyActive", FORBIDDEN)
            return
        if owner.spec.concurrency_policy == REPLACE:
            for job in running:
                await writes.delete(owner, job)
        await writes.create(owner, due.time)
