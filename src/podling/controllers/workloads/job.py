"""Running pods until enough of them have succeeded.

Flow of one run: count what ended (``job_accounting``), decide whether the job is over and what is still
to be run (``job_rules``), create or delete pods, write the status, and only then let go of the pods
whose end the *stored* status already holds.

A job that is over is marked twice: first ``SuccessCriteriaMet`` or ``FailureTarget``, and, once its last pod
has ended and is counted, ``Complete`` or ``Failed``. Upstream: ``pkg/controller/job``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from msgspec import structs
from msgspec.structs import replace

from podling import clock
from podling.api.batch_v1 import Job, JobCondition, JobStatus, UncountedTerminatedPods
from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children, child_selector
from podling.controllers.owner_references import controller_of
from podling.controllers.pod_state import is_active, is_terminating, removal_order
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import job_accounting as accounting
from podling.controllers.workloads import job_rules
from podling.controllers.workloads.job_accounting import Account, Later, is_indexed, tracked
from podling.controllers.workloads.job_pods import release, template_pod
from podling.controllers.workloads.job_rules import Backoff, Step, Verdict
from podling.controllers.workloads.pod_control import PodControl, slow_start, together
from podling.machinery.conditions import find, is_true, with_condition
from podling.machinery.pods import is_ready

CONTROLLER_NAME = "kubernetes.io/job-controller"
BY_JOB = "job"
TOO_MANY_SUCCEEDED = "Too many succeeded pods running after completion count reached"

SUSPENDED = "Suspended"
SUCCESS_TARGET, COMPLETE = "SuccessCriteriaMet", "Complete"
FAILURE_TARGET, FAILED = "FailureTarget", "Failed"


def is_finished(job: Job) -> bool:
    """Return whether the job is over and all its pods have ended."""
    return is_true(job.status.conditions, COMPLETE) or is_true(job.status.conditions, FAILED)


def target(job: Job) -> Verdict | None:
    """The way the Job ends, if decided already."""
    for type_, succeeded in ((FAILURE_TARGET, False), (SUCCESS_TARGET, True)):
        found = find(job.status.conditions, type_)
        if found is not None and found.status == "True":
            return Verdict(succeeded, found.reason or "", found.message or "")
    return None


def index_by_job(pod: Pod) -> Iterable[str]:
    """Tracked pods by ``<namespace>/<job>``, those without a job by ``<namespace>/``."""
    if not tracked(pod):
        return ()
    ref = controller_of(pod)
    if ref is not None and ref.kind != "Job":
        return ()
    return (f"{pod.metadata.namespace}/{ref.name if ref is not None else ''}",)


class JobController(Controller):
    """The keys are jobs; a key without a name means the tracked orphans of a namespace."""

    name: ClassVar[str] = "job-controller"
    workers: ClassVar[int] = 5
    backoff_seconds_max: ClassVar[float] = 60.0

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = context.informers.informer(Job)
        self._pods = context.informers.informer(Pod)
        self._pods.add_indexer(BY_JOB, index_by_job)
        self._recorder = context.recorder("job-controller")
        self._control = PodControl(context.client, self._recorder)
        self._backoffs: dict[Key, Backoff] = {}
        self._jobs.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._children = Children(context.client, self._jobs, self._pods, self.queue, child_selector)
        self._pods.add_handler(self._look_for_orphan, lambda old, new: self._look_for_orphan(new))

    def _look_for_orphan(self, pod: Pod) -> None:
        if tracked(pod) and controller_of(pod) is None:
            self.queue.add(Key(pod.metadata.namespace or "", ""))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        job = self._jobs.get(key) if key.name else None
        if job is None:
            return await self._release_ownerless(key)
        if job.spec.managed_by not in (None, "", CONTROLLER_NAME):
            return AwaitChange()
        pods = await self._children.claim(job)
        if is_finished(job):
            await self._release_all(pod for pod in pods if tracked(pod))
            return AwaitChange()
        return await self._sync(job, pods, clock.now())

    async def _release_ownerless(self, key: Key) -> AwaitChange:
        """Pods whose job is gone, or that never had one, are counted nowhere: let them go."""
        self._backoffs.pop(key, None)
        for pod in self._pods.by_index(BY_JOB, f"{key.namespace}/{key.name}"):
            if key.name or not any(
                selector.matches(pod.metadata.labels)
                for job in self._jobs.values()
                if job.metadata.namespace == key.namespace and (selector := child_selector(job))
            ):
                await release(self.client, pod)
        return AwaitChange()

    async def _sync(self, job: Job, pods: list[Pod], now: datetime) -> RequeueAfter | AwaitChange:
        key = key_of(job)
        accounted = accounting.account(job, pods)
        backoff = job_rules.after(self._backoffs.get(key, Backoff()), accounted)
        active = [pod for pod in pods if is_active(pod)]
        verdict = target(job) or job_rules.failure(job, pods, accounted, now)
        verdict = verdict or job_rules.early_success(job, accounted)
        step, failure = Step(), None
        if verdict is not None:
            step = Step(delete=tuple(active))
            failure = await self._delete(job, step.delete, counted=True)
        else:
            verdict = job_rules.completion(job, accounted, len(active))
            if verdict is None and self._may_act(job):
                step = self._plan(job, pods, active, accounted, backoff, now)
                step, failure = await self._carry_out(job, pods, step)
        status = self._status(job, pods, accounted, step, now)
        status = self._with_conditions(job, status, verdict, accounted.later, now)
        if status != job.status:
            await write_status(self.client, structs.replace(job, status=status))
            self._tell(job, status)
        self._backoffs[key] = backoff
        await self._release_all(accounted.release)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        waits = (step.wait, job_rules.seconds_to_deadline(job, now) if verdict is None else None)
        wait = min((each for each in waits if each is not None), default=None)
        return RequeueAfter(max(wait, 0.0)) if wait is not None else AwaitChange()

    def _may_act(self, job: Job) -> bool:
        """Return whether the view shows all our own writes, and the job is still wanted."""
        return self._children.settled(key_of(job)) and job.metadata.deletion_timestamp is None

    def _plan(
        self,
        job: Job,
        pods: list[Pod],
        active: list[Pod],
        accounted: Account,
        backoff: Backoff,
        now: datetime,
    ) -> Step:
        """Return the creations and deletions for now; recent failures wait for their back-off."""
        ordered = removal_order(active, pods, now)
        step = job_rules.next_step(job, active, ordered, accounted, sum(map(is_terminating, pods)))
        if not step.create:
            return step
        if not accounting.per_index(job):
            wait = job_rules.backoff_seconds(backoff, now)
            return Step(wait=wait) if wait > 0 else step
        waits, own = {}, accounting.by_index(pods)
        for index in step.indexes:
            failures, ignored, last = accounting.index_history(job, own.get(index, ()))
            waits[index] = job_rules.backoff_seconds(Backoff(failures + ignored, last), now)
        due = tuple(index for index, wait in waits.items() if wait <= 0)
        later = min((wait for wait in waits.values() if wait > 0), default=None)
        return replace(step, create=len(due), indexes=due, wait=later)

    async def _carry_out(self, job: Job, pods: list[Pod], step: Step) -> tuple[Step, Exception | None]:
        """Create or delete; returns what of ``step`` was done, and what went wrong."""
        if step.delete:
            return step, await self._delete(job, step.delete, counted=False)
        created, own = [], accounting.by_index(pods) if step.indexes else {}

        async def create(number: int) -> None:
            index = step.indexes[number] if step.indexes else None
            history = accounting.index_history(job, own.get(index, ()) if index is not None else ())
            pod = template_pod(job, index, failures=history[0], ignored=history[1])
            created.append(await self._control.create(pod, job))
            self._children.wrote(key_of(job), created[-1])

        failure = await slow_start(step.create, create)
        return replace(step, create=len(created)), failure

    async def _delete(self, job: Job, pods: Iterable[Pod], *, counted: bool) -> Exception | None:
        """Delete pods. Unless their end is to be counted as a failure, they are let go of first."""

        async def delete(pod: Pod) -> None:
            if not counted:
                await release(self.client, pod)
            if await self._control.delete(pod, job):
                self._children.deleted(key_of(job), pod)

        return await together([delete(pod) for pod in pods])

    async def _release_all(self, pods: Iterable[Pod]) -> None:
        failure = await together([release(self.client, pod) for pod in pods])
        if failure is not None:
            raise failure

    def _status(self, job: Job, pods: list[Pod], accounted: Account, step: Step, now: datetime) -> JobStatus:
        """Return the numbers of the status after ``step``."""
        doomed = {pod.metadata.uid for pod in step.delete}
        active = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in doomed]
        left_to_end = [pod for pod in step.delete if pod.spec.node_name]
        started = job.status.start_time
        if not job.spec.suspend and (started is None or is_true(job.status.conditions, SUSPENDED)):
            started = clock.seconds_precision(now)
        return structs.replace(
            job.status,
            active=len(active) + step.create,
            ready=sum(map(is_ready, active)),
            terminating=sum(map(is_terminating, pods)) + len(left_to_end),
            succeeded=accounted.succeeded,
            failed=accounted.failed,
            uncounted_terminated_pods=accounted.uncounted,
            completed_indexes=str(accounted.completed_indexes) if is_indexed(job) else "",
            failed_indexes=str(accounted.failed_indexes) if accounting.per_index(job) else None,
            start_time=started,
        )

    def _with_conditions(
        self, job: Job, status: JobStatus, verdict: Verdict | None, later: Later, now: datetime
    ) -> JobStatus:
        if verdict is None:
            return structs.replace(status, conditions=_suspension(job, status, now))
        first, last = (SUCCESS_TARGET, COMPLETE) if verdict.succeeded else (FAILURE_TARGET, FAILED)
        uncounted = status.uncounted_terminated_pods != _NOTHING or not later.is_empty
        waiting = status.active or status.terminating or uncounted
        decided = is_true(job.status.conditions, first)
        condition = JobCondition(
            type=last if decided and not waiting else first,
            status="True",
            reason=verdict.reason,
            message=verdict.message,
            last_probe_time=clock.seconds_precision(now),
        )
        if is_true(status.conditions, condition.type):
            return status
        status = structs.replace(status, conditions=with_condition(status.conditions, condition, now))
        if condition.type == COMPLETE:
            return structs.replace(status, completion_time=clock.seconds_precision(now))
        return status

    def _tell(self, job: Job, status: JobStatus) -> None:
        """Events for the conditions that are new."""
        for condition in status.conditions:
            before = find(job.status.conditions, condition.type)
            if before is not None and before.status == condition.status:
                continue
            if condition.type == COMPLETE:
                if job.spec.completions is not None and (status.succeeded or 0) > job.spec.completions:
                    self._recorder.event(job, "Warning", "TooManySucceededPods", TOO_MANY_SUCCEEDED)
                self._recorder.event(job, "Normal", "Completed", "Job completed")
            elif condition.type == FAILED:
                self._recorder.event(job, "Warning", condition.reason or "", condition.message or "")
            elif condition.type == SUSPENDED:
                word = "Suspended" if condition.status == "True" else "Resumed"
                self._recorder.event(job, "Normal", word, condition.message or "")


_NOTHING = UncountedTerminatedPods()


def _suspension(job: Job, status: JobStatus, now: datetime) -> tuple[JobCondition, ...]:
    """Return the condition that says whether the job is suspended; none for one that never was."""
    if job.spec.suspend:
        wanted, reason, message = "True", "JobSuspended", "Job suspended"
    elif find(status.conditions, SUSPENDED) is not None:
        wanted, reason, message = "False", "JobResumed", "Job resumed"
    else:
        return status.conditions
    present = find(status.conditions, SUSPENDED)
    if present is not None and present.status == wanted:
        return status.conditions
    condition = JobCondition(
        type=SUSPENDED,
        status=wanted,
        reason=reason,
        message=message,
        last_probe_time=clock.seconds_precision(now),
    )
    return with_condition(status.conditions, condition, now)
