"""The status of a Job: its numbers, and the conditions that say how it ends. Pure.

Upstream: ``pkg/controller/job/job_controller.go``.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from podling import clock
from podling.api.batch_v1 import Job, JobCondition, JobStatus, UncountedTerminatedPods
from podling.api.core_v1 import Pod
from podling.controllers.pod_state import is_active, is_terminating
from podling.controllers.workloads.job_accounting import Account, Later
from podling.controllers.workloads.job_pod_rules import is_indexed, per_index
from podling.controllers.workloads.job_rules import Step, Verdict
from podling.machinery.conditions import find, is_true, with_condition
from podling.machinery.pods import is_ready

SUSPENDED = "Suspended"
SUCCESS_TARGET, COMPLETE = "SuccessCriteriaMet", "Complete"
FAILURE_TARGET, FAILED = "FailureTarget", "Failed"


def is_finished(job: Job) -> bool:
    """Return whether the job is over and all its pods have ended."""
    return is_true(job.status.conditions, COMPLETE) or is_true(job.status.conditions, FAILED)


def target(job: Job) -> Verdict | None:
    """The way the Job ends, if decided already."""
    for type_, succeeded in ((SUCCESS_TARGET, True), (FAILURE_TARGET, False)):
        found = find(job.status.conditions, type_)
        if found is not None and found.status == "True":
            return Verdict(succeeded, found.reason or "", found.message or "")
    return None


def status_of(
    job: Job, pods: list[Pod], accounted: Account, step: Step, now: datetime, *, managed: bool
) -> JobStatus:
    """Return the numbers of the status after ``step``."""
    doomed = {pod.metadata.uid for pod in step.delete}
    active = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in doomed]
    left_to_end = [pod for pod in step.delete if pod.spec.node_name]
    started = job.status.start_time
    resumed = managed and is_true(job.status.conditions, SUSPENDED)
    if job.spec.suspend:
        started = None if managed else started
    elif started is None or resumed:
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
        failed_indexes=str(accounted.failed_indexes) if per_index(job) else None,
        start_time=started,
    )


def with_verdict(job: Job, status: JobStatus, verdict: Verdict, later: Later, now: datetime) -> JobStatus:
    """Return the status with the condition that the job will end or, after its last pod, has ended."""
    first, last = (SUCCESS_TARGET, COMPLETE) if verdict.succeeded else (FAILURE_TARGET, FAILED)
    uncounted = status.uncounted_terminated_pods != UncountedTerminatedPods() or not later.is_empty
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


def suspension(job: Job, status: JobStatus, now: datetime) -> tuple[JobCondition, ...]:
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
