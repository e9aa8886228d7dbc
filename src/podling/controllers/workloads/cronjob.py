"""Creation of Jobs on a schedule.

Flow of one run: take finished jobs off the list of active ones, delete those beyond the history, start the
run that is due (at most one: of several that were missed only the last counts), and come back when the
next is. A run's job is named by its scheduled minute, so no run is ever started twice, even after a
restart. Upstream: ``pkg/controller/cronjob/cronjob_controllerv2.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import Struct, structs

from podling import clock
from podling.api.batch_v1 import CronJob, CronJobStatus, Job
from podling.api.core_v1 import ObjectReference
from podling.client.base import Key, key_of
from podling.client.informer import revision_number
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.owner_references import is_controlled_by
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import cronjob_rules as rules
from podling.machinery import cron
from podling.machinery.cron import Schedule, ScheduleError
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.histograms import Histogram, histograms

FORBIDDEN = "Not starting job because prior execution is running and concurrency policy is Forbid"
TOO_MANY = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
ZONE_IN_SCHEDULE = (
    'CRON_TZ or TZ used in schedule "{}" is not officially supported, see '
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
SLACK_SECONDS = 0.1
"""We come back a little after the due time, never a little before."""
SKEW_SECONDS = tuple(2.0**power for power in range(10))


class Started(Struct, frozen=True):
    """The status after a look at the due run, and the error that kept the run from its start.

    The status is written in any case, or the same news of earlier jobs would come with every retry.
    """

    status: CronJobStatus
    error: ApiError | None = None


class CronJobController(Controller):
    name: ClassVar[str] = "cronjob-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("cronjob-controller")
        self._cron_jobs = context.informers.informer(CronJob)
        self._written: dict[Key, int] = {}  # the revision of our last write of each status
        self._skew = Histogram(SKEW_SECONDS)
        jobs = context.informers.informer(Job)
        self._cron_jobs.add_handler(self.enqueue, self._changed)
        self._children = Children(context.client, self._cron_jobs, jobs, self.queue, lambda cron_job: None)

    def families(self) -> Iterator[Any]:
        yield histograms(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "[STABLE] Time between when a cronjob is scheduled to be run, and when the corresponding job is "
            "created",
            (),
            {(): self._skew},
        )

    def _changed(self, old: CronJob, new: CronJob) -> None:
        """Look at once, but after a change of the schedule only when that is due next.

        A time of the new schedule that is past already would else count as missed. Source: ``updateCronJob``.
        """
        if (old.spec.schedule, old.spec.time_zone) == (new.spec.schedule, new.spec.time_zone):
            self.enqueue(new)
            return
        now = clock.now()
        try:
            schedule = cron.parse(new.spec.schedule, cron.time_zone(new.spec.time_zone))
            following = rules.next_run(new, schedule, now)
        except ScheduleError:
            following = None
        if following is None:
            self.enqueue(new)  # the run reports what is wrong
        else:
            self.queue.add_after(key_of(new), (following - now) / timedelta(seconds=1) + SLACK_SECONDS)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        cron_job = self._cron_jobs.get(key)
        if cron_job is None:
            self._written.pop(key, None)
            return AwaitChange()
        if not self._children.settled(key) or self._cron_jobs.revision < self._written.get(key, 0):
            return AwaitChange()  # our own writes are still on their way, and will wake us
        jobs = list(self._children.owned(cron_job))
        gone = await self._forget_history(cron_job, jobs)
        status = await self._reviewed(cron_job, jobs, gone)
        schedule = None
        if cron_job.metadata.deletion_timestamp is None:
            schedule = self._schedule(cron_job)
        if schedule is None:
            await self._write(cron_job, status)
            return AwaitChange()
        now = clock.now()
        cron_job = structs.replace(cron_job, status=status)
        started = await self._start(cron_job, schedule, now)
        status = started.status
        held = self._cron_jobs.get(key)
        await self._write(held if held is not None else cron_job, status)
        if started.error is not None:
            raise started.error
        following = rules.next_run(structs.replace(cron_job, status=status), schedule, now)
        if following is None:
            return AwaitChange()
        return RequeueAfter((following - now) / timedelta(seconds=1) + SLACK_SECONDS)

    def _schedule(self, cron_job: CronJob) -> Schedule | None:
        """Return the schedule; None for one that is suspended, or cannot be read."""
        spec = cron_job.spec
        try:
            zone = cron.time_zone(spec.time_zone)
        except ScheduleError as error:
            text = f'invalid timeZone: "{spec.time_zone}": {error}'
            self._tell(cron_job, "Warning", "UnknownTimeZone", text)
            return None
        if spec.suspend:
            return None
        if "TZ" in spec.schedule:
            self._tell(cron_job, "Warning", "UnsupportedSchedule", ZONE_IN_SCHEDULE.format(spec.schedule))
        try:
            return cron.parse(spec.schedule, zone)
        except ScheduleError as error:
            text = f'unparseable schedule: "{spec.schedule}" : {error}'
            self._tell(cron_job, "Warning", "UnparseableSchedule", text)
            return None

    # Earlier runs

    async def _reviewed(self, cron_job: CronJob, jobs: list[Job], gone: set[str]) -> CronJobStatus:
        """The status after a look at the jobs there are; ``gone``: those that were deleted just now."""
        active = [each for each in cron_job.status.active if each.uid not in gone]
        by_uid = {job.metadata.uid: job for job in jobs}
        successful = cron_job.status.last_successful_time
        for job in jobs:
            listed = [each for each in active if each.uid == job.metadata.uid]
            over = rules.finished(job)
            if over is None:
                if not listed and rules.SCHEDULED_AT in job.metadata.annotations:
                    active.append(rules.reference(job))  # ours: the status could not be written
                elif not listed:
                    name = job.metadata.name
                    text = f"Saw a job that the controller did not create or forgot: {name}"
                    self._tell(cron_job, "Warning", "UnexpectedJob", text)
                continue
            if listed:
                active = [each for each in active if each not in listed]
                text = f"Saw completed job: {job.metadata.name}, condition: {over.type}"
                self._tell(cron_job, "Normal", "SawCompletedJob", text)
            moment = job.status.completion_time
            if over.type == "Complete" and moment and (successful is None or moment > successful):
                successful = moment
        for each in [each for each in active if each.uid not in by_uid]:
            if not await self._exists(each):
                active.remove(each)
                self._tell(cron_job, "Normal", "MissingJob", f"Active job went missing: {each.name}")
        return structs.replace(cron_job.status, active=tuple(active), last_successful_time=successful)

    async def _exists(self, ref: ObjectReference) -> bool:
        try:
            job = await self.client.get(Job, ref.name or "", ref.namespace)
        except ApiError as error:
            if is_not_found(error):
                return False
            raise
        return job.metadata.uid == ref.uid

    async def _forget_history(self, cron_job: CronJob, jobs: list[Job]) -> set[str]:
        """Delete the jobs beyond the history; returns their UIDs.

        A job that cannot be deleted does not hold up the schedule. A deleted one stays among ``jobs``: the
        time of its success counts.
        """
        gone: set[str] = set()
        for job in rules.surplus(cron_job, jobs):
            if job.metadata.deletion_timestamp is None:
                with suppress(ApiError):
                    await self._delete(cron_job, job.metadata.name or "", job.metadata.uid or "")
                    self._children.deleted(key_of(cron_job), job)
                    gone.add(job.metadata.uid or "")
        return gone

    async def _delete(self, cron_job: CronJob, name: str, uid: str) -> None:
        try:
            await self.client.delete(
                Job, name, cron_job.metadata.namespace, uid=uid, propagation="Background"
            )
        except ApiError as error:
            if is_not_found(error):
                return
            self._tell(cron_job, "Warning", "FailedDelete", f"Deleted job: {error}")
            raise
        self._tell(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name}")

    # The run that is due

    async def _start(self, cron_job: CronJob, schedule: Schedule, now: datetime) -> Started:
        """Start the run that is due, if one is; returns the status after that."""
        status = cron_job.status
        time = self._due_time(cron_job, schedule, now)
        if time is None or status.last_schedule_time == time:
            return Started(status)
        name = rules.job_name(cron_job, time)
        if any(each.name == name for each in status.active):
            return Started(structs.replace(status, last_schedule_time=time))  # begun before a restart
        policy = cron_job.spec.concurrency_policy
        if status.active and policy == "Forbid":
            self._tell(cron_job, "Normal", "JobAlreadyActive", FORBIDDEN)
            return Started(status)
        if policy == "Replace":
            replaced = await self._end_active(cron_job)
            status = replaced.status
            if replaced.error is not None:
                return replaced
        try:
            job = await self._create(cron_job, rules.job_for(cron_job, time), time)
        except ApiError as error:
            return Started(status, error)
        if job is None:
            return Started(status)
        active = (*(each for each in status.active if each.uid != job.metadata.uid), rules.reference(job))
        return Started(structs.replace(status, active=active, last_schedule_time=time))

    def _due_time(self, cron_job: CronJob, schedule: Schedule, now: datetime) -> datetime | None:
        """Return the time of the run to start now; None if none is due, or it would begin too late."""
        try:
            due = rules.due(cron_job, schedule, now)
        except ScheduleError as error:
            text = f"invalid schedule: {cron_job.spec.schedule} : {error}"
            self._tell(cron_job, "Warning", "InvalidSchedule", text)
            return None
        if due.time is None:
            return None
        if due.missed > rules.MISSED_MAX:
            self._tell(cron_job, "Warning", "TooManyMissedTimes", TOO_MANY)
        if rules.is_too_late(cron_job, due.time, now):
            self._tell(cron_job, "Warning", "MissSchedule", rules.missed_text(due.time))
            return None
        return due.time

    async def _end_active(self, cron_job: CronJob) -> Started:
        """Delete the jobs that still run, as the policy ``Replace`` has it."""
        status = cron_job.status
        for each in status.active:
            try:
                job = await self.client.get(Job, each.name or "", each.namespace)
            except ApiError as error:
                self._tell(cron_job, "Warning", "FailedGet", f"Get job: {error}")
                return Started(status, error)
            try:
                await self._delete(cron_job, job.metadata.name or "", job.metadata.uid or "")
            except ApiError as error:
                return Started(status, error)
            left = tuple(other for other in status.active if other.uid != each.uid)
            status = structs.replace(status, active=left)
        return Started(status)

    async def _create(self, cron_job: CronJob, wanted: Job, time: datetime) -> Job | None:
        """None in a namespace that is going away, and if another's job has the name."""
        try:
            job = await self.client.create(wanted)
        except ApiError as error:
            if is_namespace_terminating(error):
                return None
            if is_already_exists(error):
                job = await self.client.get(Job, wanted.metadata.name or "", wanted.metadata.namespace)
                return job if is_controlled_by(job, cron_job) else None  # an earlier try did succeed
            self._tell(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        self._children.wrote(key_of(cron_job), job)
        created = job.metadata.creation_timestamp
        if created is not None:
            self._skew.observe(max(0.0, (created - time) / timedelta(seconds=1)))
        self._tell(cron_job, "Normal", "SuccessfulCreate", f"Created job {job.metadata.name}")
        return job

    async def _write(self, cron_job: CronJob, status: CronJobStatus) -> None:
        if status != cron_job.status:
            changed = structs.replace(cron_job, status=status)
            written = await write_status(self.client, changed)
            self._written[key_of(cron_job)] = revision_number(written)

    def _tell(self, cron_job: CronJob, type_: str, reason: str, message: str) -> None:
        self._recorder.event(cron_job, type_, reason, message)
