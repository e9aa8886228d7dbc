"""BroadcastJobs: pods on all nodes that fit, until all have ended.

Flow: count the pods; see to failed ones as the policy wants it; delete pods of nodes that fit no more; create
missing ones; end the job; write the status.
Upstream: ``pkg/controller/broadcastjob``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node, Pod
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.clock import seconds_precision
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import Children
from podling.controllers.workloads.pod_control import PodControl, slow_start, together
from podling.machinery.errors import unless_gone
from podling.machinery.selectors import from_labels
from podling_kruise.broadcastjob.job_plan import (
    Census,
    Placement,
    census,
    is_complete,
    is_finished,
    labels_of,
    new_pod,
    number_to_create,
    placement,
    seconds_to_deadline,
    seconds_to_deletion,
)
from podling_kruise.broadcastjob.types import (
    COMPLETED,
    FAIL_FAST,
    FAILED,
    PAUSE,
    PAUSED,
    RUNNING,
    BroadcastJob,
    BroadcastJobStatus,
    JobCondition,
)


class BroadcastJobController(Controller):
    """One key for each BroadcastJob."""

    name: ClassVar[str] = "broadcastjob-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        informers = context.informers
        self._jobs = informers.informer(BroadcastJob)
        self._jobs.add_handler(self.enqueue, self.enqueue_changed, self.enqueue)
        pods = informers.informer(Pod)
        self._pods = Children(
            context.client,
            self._jobs,
            pods,
            self.queue,
            lambda job: from_labels(labels_of(job)),
            adopts=False,
        )
        self._nodes = informers.informer(Node)
        self._nodes.add_handler(self._of_node, self._of_changed_node)
        self._recorder = context.recorder(self.name)
        self._control = PodControl(context.client, self._recorder)

    def _of_node(self, node: Node) -> None:
        for job in self._jobs.values():
            if not is_finished(job):
                self.enqueue(job)

    def _of_changed_node(self, old: Node, new: Node) -> None:
        before, after = ((each.metadata.labels, each.spec, each.status.allocatable) for each in (old, new))
        if before != after:
            self._of_node(new)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        job = self._jobs.get(key)
        if job is None or not self._pods.settled(key):
            return AwaitChange()
        if is_finished(job):
            return await self._delete_when_old(job)
        now = clock.now()
        pods = await self._pods.claim(job)
        found, placed = census(job, pods), placement(job, self._nodes.values(), pods)
        status = structs.replace(
            job.status,
            start_time=job.status.start_time or seconds_precision(now),
            phase=job.status.phase or RUNNING,
            active=len(found.active),
            succeeded=len(found.succeeded),
            failed=len(found.failed),
            desired=len(placed.desired),
        )
        held = structs.replace(job, status=status)
        status, failure = await self._next(held, found, placed)
        if status != job.status:
            job = await self.write_status(structs.replace(job, status=status))
        if failure is not None:
            raise failure
        if is_finished(job):
            return await self._delete_when_old(job)
        if status.phase == PAUSED:
            return AwaitChange()  # its deadline counts again once its user lets it continue
        left = seconds_to_deadline(job, now)
        return RequeueAfter(max(left, 0.0)) if left is not None else AwaitChange()

    async def _next(
        self, job: BroadcastJob, found: Census, placed: Placement
    ) -> tuple[BroadcastJobStatus, Exception | None]:
        """Take the next step of a job. Return its status, and what went wrong."""
        status = job.status
        if status.phase == FAILED:
            return status, None
        if job.spec.paused and status.phase in (RUNNING, PAUSED):
            return structs.replace(status, phase=PAUSED), None
        if status.phase == PAUSED:
            status = structs.replace(status, phase=RUNNING)
            self._recorder.event(job, "Normal", "Continue", "continue to process job")
        policy = job.spec.failure_policy.type
        if found.failed and policy == PAUSE:
            return await self._pause(job, status), None
        if found.failed and policy == FAIL_FAST:
            text = "failure policy is FailurePolicyTypeFailFast and failed pod is found"
            return await self._fail(job, status, found, "failed pod is found", text)
        left = seconds_to_deadline(job, clock.now())
        if left is not None and left <= 0:
            where = f"{job.metadata.namespace}/{job.metadata.name}"
            text = f"Job {where} was active longer than specified deadline"
            return await self._fail(job, status, found, "DeadlineExceeded", text)
        return await self._go_on(job, status, placed)

    async def _pause(self, job: BroadcastJob, status: BroadcastJobStatus) -> BroadcastJobStatus:
        """Pause the job until its user lets it continue."""
        self._recorder.event(job, "Warning", "Paused", "job is paused, due to failed pod")
        patch = {"metadata": {"uid": job.metadata.uid}, "spec": {"paused": True}}
        with unless_gone():
            await self.client.patch(BroadcastJob, job.metadata.name or "", patch, job.metadata.namespace)
        return structs.replace(status, phase=PAUSED)

    async def _fail(
        self, job: BroadcastJob, status: BroadcastJobStatus, found: Census, reason: str, text: str
    ) -> tuple[BroadcastJobStatus, Exception | None]:
        deleted, failure = await self._delete(job, found.active)
        status = structs.replace(
            status, phase=FAILED, active=status.active - deleted, failed=status.failed + deleted
        )
        counts = f"{len(found.succeeded)} pods succeeded, {len(found.failed)} pods failed"
        self._recorder.event(job, "Warning", reason, f"{text}: {counts}")
        return _ended(status, "Failed", text), failure

    async def _go_on(
        self, job: BroadcastJob, status: BroadcastJobStatus, placed: Placement
    ) -> tuple[BroadcastJobStatus, Exception | None]:
        succeeded, failed = status.succeeded, status.failed
        deleted, failure = await self._delete(job, placed.unfit)
        status = structs.replace(status, active=status.active - deleted, failed=status.failed + deleted)
        if job.metadata.deletion_timestamp is None and placed.missing:
            number = number_to_create(job, placed, status.active)
            if number < 0:
                text = "Number of active pods exceed parallelism limit"
                self._recorder.event(job, "Warning", "TooManyActivePods", text)
            created, error = await self._create(job, placed.missing[: max(0, number)])
            failure = failure or error
            status = structs.replace(status, active=status.active + created)
        if is_complete(job, placed):
            counts = f"{succeeded} pods succeeded, {failed} pods failed"
            where = f"{job.metadata.namespace}/{job.metadata.name}"
            text = f"Job {where} is completed, {counts}"
            self._recorder.event(job, "Normal", "JobComplete", text)
            status = _ended(structs.replace(status, phase=COMPLETED), "Complete", f"Job completed, {counts}")
        return status, failure

    async def _create(self, job: BroadcastJob, nodes: Sequence[str]) -> tuple[int, Exception | None]:
        created = 0

        async def create(number: int) -> None:
            nonlocal created
            pod = await self._control.create(new_pod(job, nodes[number]), job)
            self._pods.wrote(key_of(job), pod)
            created += 1

        failure = await slow_start(len(nodes), create)
        return created, failure

    async def _delete(self, job: BroadcastJob, pods: Sequence[Pod]) -> tuple[int, Exception | None]:
        deleted = 0

        async def delete(pod: Pod) -> None:
            nonlocal deleted
            if await self._control.delete(pod, job):
                self._pods.deleted(key_of(job), pod)
                deleted += 1

        failure = await together([delete(pod) for pod in pods])
        return deleted, failure

    async def _delete_when_old(self, job: BroadcastJob) -> RequeueAfter | AwaitChange:
        left = seconds_to_deletion(job, clock.now())
        if left is None or job.metadata.deletion_timestamp is not None:
            return AwaitChange()
        if left > 0:
            return RequeueAfter(left)
        metadata = job.metadata
        with unless_gone():
            await self.client.delete(
                BroadcastJob,
                metadata.name or "",
                metadata.namespace,
                uid=metadata.uid or "",
                propagation="Background",
            )
        return AwaitChange()


def _ended(status: BroadcastJobStatus, kind: str, message: str) -> BroadcastJobStatus:
    now = seconds_precision(clock.now())
    condition = JobCondition(
        type=kind, status="True", last_probe_time=now, last_transition_time=now, reason=kind, message=message
    )
    return structs.replace(status, conditions=(*status.conditions, condition), completion_time=now)
