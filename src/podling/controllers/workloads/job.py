"""Running pods until enough of them have succeeded.

Flow of one run: count what ended (``job_accounting``), decide whether the job is over and what is still
to be run (``job_rules``), create or delete pods, write the status, and only then let go of the pods
whose end the *stored* status already holds.

A job that is over is marked twice: first ``SuccessCriteriaMet`` or ``FailureTarget``, and, once its last pod
has ended and is counted, ``Complete`` or ``Failed``. Upstream: ``pkg/controller/job``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct, structs
from msgspec.structs import replace

from podling import clock
from podling.api.batch_v1 import Job, JobStatus
from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children, child_selector
from podling.controllers.owner_references import controller_of, is_controlled_by
from podling.controllers.pod_state import is_active, is_terminating, plain_removal_order
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import job_accounting as accounting
from podling.controllers.workloads import job_metrics as metrics
from podling.controllers.workloads import job_rules, job_status
from podling.controllers.workloads.job_accounting import Account
from podling.controllers.workloads.job_metrics import JobMetrics
from podling.controllers.workloads.job_pod_rules import (
    FINALIZER,
    delayed_pods,
    index_history,
    per_index,
    tracked,
)
from podling.controllers.workloads.job_pods import release, template_pod
from podling.controllers.workloads.job_rules import Backoff, Step
from podling.controllers.workloads.pod_control import PodControl, slow_start, together
from podling.machinery.conditions import find
from podling.machinery.errors import unless_gone

BY_JOB = "job"
TOO_MANY_SUCCEEDED = "Too many succeeded pods running after completion count reached"


def index_by_job(pod: Pod) -> Iterable[str]:
    """Tracked pods by ``<namespace>/<job>``, those without a job by ``<namespace>/``."""
    if not tracked(pod):
        return ()
    ref = controller_of(pod)
    if ref is not None and (ref.api_version, ref.kind) != ("batch/v1", "Job"):
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
        self._backoffs: dict[str, Backoff] = {}  # by the UID of the job
        self._metrics = JobMetrics()
        self._jobs.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._children = Children(
            context.client, self._jobs, self._pods, self.queue, child_selector, finalizer=FINALIZER
        )
        self._jobs.add_handler(self._count_external, on_delete=self._forget)
        self._pods.add_handler(self._pod_seen, self._pod_changed, self._pod_gone)

    def families(self) -> Iterator[Any]:
        return self._metrics.families()

    def _count_external(self, job: Job) -> None:
        if _is_external(job):
            self._metrics.record_external(job)

    def _backoff(self, job: Job) -> Backoff:
        return self._backoffs.get(job.metadata.uid or "", Backoff())

    def _forget(self, job: Job) -> None:
        self._backoffs.pop(job.metadata.uid or "", None)

    def _pod_seen(self, pod: Pod) -> None:
        self._metrics.record_pod(None, pod)
        self._look_for_orphan(pod)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        self._metrics.record_pod(old, new)
        self._look_for_orphan(new)

    def _pod_gone(self, pod: Pod) -> None:
        self._metrics.record_pod(pod, None)

    def _look_for_orphan(self, pod: Pod) -> None:
        if tracked(pod) and controller_of(pod) is None:
            self.queue.add(Key(pod.metadata.namespace or "", ""))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        job = self._jobs.get(key) if key.name else None
        if job is None:
            return await self._release_ownerless(key)
        await self._release_predecessors(key, job)
        if _is_external(job):
            return AwaitChange()
        settled = self._children.settled(key)
        pods = await self._children.claim(job)
        if job_status.is_finished(job):
            self._forget(job)
            await self._release_all(pod for pod in pods if tracked(pod))
            return AwaitChange()
        began, run = clock.monotonic(), _Run(metrics.RECONCILING, None)
        try:
            run = await self._sync(job, pods, settled, clock.now())
        except Exception as error:
            run = _Run(run.action, None, error)
            raise
        finally:
            seconds = clock.monotonic() - began
            self._metrics.record_sync(job, run.action, seconds, succeeded=run.failure is None)
        if run.failure is not None and not is_namespace_terminating(run.failure):
            raise run.failure
        return RequeueAfter(max(run.wait, 0.0)) if run.wait is not None else AwaitChange()

    async def _release_ownerless(self, key: Key) -> AwaitChange:
        """Pods whose job is gone, or that never had one, are counted nowhere: let them go."""
        await self._release_all(
            pod
            for pod in self._pods.by_index(BY_JOB, f"{key.namespace}/{key.name}")
            if key.name
            or not any(
                selector.matches(pod.metadata.labels)
                for job in self._jobs.values()
                if job.metadata.namespace == key.namespace and (selector := child_selector(job))
            )
        )
        return AwaitChange()

    async def _release_predecessors(self, key: Key, job: Job) -> None:
        """Let go of the pods of an earlier job of this name, which has made way before this key was handled.

        The server decides which job is there: the view of jobs may be older than that of pods.
        """
        pods = self._pods.by_index(BY_JOB, f"{key.namespace}/{key.name}")
        others = [pod for pod in pods if not is_controlled_by(pod, job)]
        if others:
            with unless_gone():
                job = await self.client.get(Job, key.name, key.namespace)
            await self._release_all(pod for pod in others if not is_controlled_by(pod, job))

    async def _sync(self, job: Job, pods: list[Pod], settled: bool, now: datetime) -> _Run:
        """Run the job. ``settled``: the view shows all our own writes."""
        accounted = accounting.account(job, pods)
        backoff = job_rules.after(self._backoff(job), accounted)
        active = [pod for pod in pods if is_active(pod)]
        verdict = job_status.target(job) or job_rules.failure(job, pods, accounted, now)
        verdict = verdict or job_rules.early_success(job, accounted)
        step, failure, action = Step(), None, metrics.RECONCILING
        if verdict is not None:
            deleted, failure = await self._delete(job, active, counted=True)
            step = Step(delete=deleted)
            if failure is not None or not settled:
                verdict = None  # a pod may be left, or is not seen yet
        else:
            if settled and job.metadata.deletion_timestamp is None:
                step = self._plan(job, pods, active, accounted, backoff, now)
                action = _action(job, step)
                step, failure = await self._carry_out(job, pods, accounted, step)
                pods = _without(pods, step.delete)
            verdict = job_rules.completion(job, accounted, len(active) + step.create - len(step.delete))
        managed = verdict is None and action != metrics.RECONCILING
        if verdict is not None:
            accounted = accounting.account(job, pods, verdict.succeeded)
        status = job_status.status_of(job, pods, accounted, step, now, managed=managed)
        if verdict is not None:
            status = job_status.with_verdict(job, status, verdict, accounted.later, now)
        elif managed:
            status = structs.replace(status, conditions=job_status.suspension(job, status, now))
        if status != job.status:
            await write_status(self.client, structs.replace(job, status=status))
            self._metrics.record_progress(job, status)
            self._tell(job, status)
        self._record_policy(job, accounted)
        self._backoffs[job.metadata.uid or ""] = backoff
        await self._release_all(accounted.release)
        waits = (step.wait, job_rules.seconds_to_deadline(job, now) if verdict is None else None)
        wait = min((each for each in waits if each is not None), default=None)
        return _Run(action, wait, failure)

    def _record_policy(self, job: Job, accounted: Account) -> None:
        """Count what the pod failure policy decided in this run; a pod may show for several runs."""
        noted = self._backoff(job).noted
        ignored = [pod for pod in accounted.ignored if pod.metadata.uid not in noted]
        counted = [pod for pod in accounted.new_failures if pod.metadata.uid in accounted.uncounted.failed]
        self._metrics.record_policy(job, [*ignored, *counted])

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
        ordered = plain_removal_order(active)
        terminating = [pod for pod in pods if is_terminating(pod)]
        step = job_rules.next_step(job, active, ordered, accounted, terminating)
        if not step.create:
            return step
        if not per_index(job):
            wait = job_rules.backoff_seconds(backoff, now)
            return Step(wait=wait) if wait > 0 else step
        last = delayed_pods(job, pods, set())
        waits = {index: job_rules.index_backoff_seconds(last.get(index), now) for index in step.indexes}
        due = tuple(index for index, wait in waits.items() if wait <= 0)
        later = min((wait for wait in waits.values() if wait > 0), default=None)
        return replace(step, create=len(due), indexes=due, wait=later)

    async def _carry_out(
        self, job: Job, pods: list[Pod], accounted: Account, step: Step
    ) -> tuple[Step, Exception | None]:
        """Create or delete; returns what of ``step`` was done, and what went wrong."""
        if step.delete:
            deleted, failure = await self._delete(job, step.delete, counted=False)
            return replace(step, delete=deleted), failure
        created, last = [], delayed_pods(job, pods, set()) if step.indexes else {}

        async def create(number: int) -> None:
            index = step.indexes[number] if step.indexes else None
            history = index_history(job, last.get(index) if index is not None else None)
            pod = template_pod(job, index, failures=history[0], ignored=history[1])
            created.append(await self._control.create(pod, job))
            self._children.wrote(key_of(job), created[-1])

        failure = await slow_start(step.create, create)
        failed = 0 if failure is None else max(1, step.create - len(created))
        terminating = sum(map(is_terminating, pods))
        self._metrics.record_creations(job, accounted, terminating, len(created), failed)
        return replace(step, create=len(created)), failure

    async def _delete(
        self, job: Job, pods: Iterable[Pod], *, counted: bool
    ) -> tuple[tuple[Pod, ...], Exception | None]:
        """Delete pods; returns those that are deleted, and what went wrong.

        Unless their end is to be counted as a failure, they are let go of first.
        """
        deleted: list[Pod] = []

        async def delete(pod: Pod) -> None:
            if not counted:
                await release(self.client, pod)
            if await self._control.delete(pod, job):
                self._children.deleted(key_of(job), pod)
            deleted.append(pod)

        failure = await together([delete(pod) for pod in pods])
        return tuple(deleted), failure

    async def _release_all(self, pods: Iterable[Pod]) -> None:
        failure = await together([release(self.client, pod) for pod in pods])
        if failure is not None:
            raise failure

    def _tell(self, job: Job, status: JobStatus) -> None:
        """Events for the conditions that are new."""
        for condition in status.conditions:
            before = find(job.status.conditions, condition.type)
            if before is not None and before.status == condition.status:
                continue
            if condition.type == job_status.COMPLETE:
                if job.spec.completions is not None and (status.succeeded or 0) > job.spec.completions:
                    self._recorder.event(job, "Warning", "TooManySucceededPods", TOO_MANY_SUCCEEDED)
                self._recorder.event(job, "Normal", "Completed", "Job completed")
                self._metrics.record_end(job, condition)
            elif condition.type == job_status.FAILED:
                self._recorder.event(job, "Warning", condition.reason or "", condition.message or "")
                self._metrics.record_end(job, condition)
            elif condition.type == job_status.SUSPENDED:
                word = "Suspended" if condition.status == "True" else "Resumed"
                self._recorder.event(job, "Normal", word, condition.message or "")


class _Run(Struct, frozen=True):
    """The result of a run: what was done, the seconds until the next one, and what went wrong."""

    action: str
    wait: float | None
    failure: Exception | None = None


def _without(pods: list[Pod], others: Iterable[Pod]) -> list[Pod]:
    uids = {pod.metadata.uid for pod in others}
    return [pod for pod in pods if pod.metadata.uid not in uids]


def _action(job: Job, step: Step) -> str:
    if step.delete or job.spec.suspend:
        return metrics.DELETED
    return metrics.CREATED if step.create or step.wait is not None else metrics.TRACKING


def _is_external(job: Job) -> bool:
    """Return whether another controller manages the job."""
    return job.spec.managed_by not in (None, "", job_rules.CONTROLLER_NAME)
