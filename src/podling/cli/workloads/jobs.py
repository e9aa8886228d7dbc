"""Jobs that have failed, are about to, wait for their pods to end, or are another controller's. Pure.

Upstream: ``pkg/controller/job/job_controller.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.batch_v1 import Job, JobCondition
from podling.api.core_v1 import Pod
from podling.cli.evidence import Explanation, Source, one_line, source_of_condition
from podling.controllers.workloads.job_rules import CONTROLLER_NAME
from podling.machinery.pods import is_terminal

ADVICE = {
    "DeadlineExceeded": "Raise spec.activeDeadlineSeconds, or give it less work, and create the Job anew.",
    "PodFailurePolicy": "A rule of spec.podFailurePolicy has ended it. Correct the cause, create it anew.",
}
ANEW = "Correct the cause and create the Job anew: one that has failed never starts again."
ENDINGS = ("Failed", "FailureTarget")
"""Conditions of a Job that has failed, and of one that only waits for its pods to end."""


def is_complete(job: Job) -> bool:
    return _condition(job, "Complete") is not None


def wanted_by_job(job: Job) -> int:
    """Return the number of pods that should be running now."""
    if is_complete(job) or any(_condition(job, each) for each in ENDINGS):
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        return 0 if job.status.succeeded else parallelism
    return max(0, min(parallelism, job.spec.completions - job.status.succeeded))


def explain_job(job: Job, name: str, pods: Sequence[tuple[Pod, Explanation]]) -> Explanation | None:
    """Return why the Job does not go on, or why it has failed."""
    return _of_another(job, name) or _failed(job, name, pods) or _waits_for_ends(job, name, pods)


def _condition(job: Job, type_: str) -> JobCondition | None:
    return next(
        (each for each in job.status.conditions if each.type == type_ and each.status == "True"), None
    )


def _of_another(job: Job, name: str) -> Explanation | None:
    manager = job.spec.managed_by
    if manager in (None, CONTROLLER_NAME) or _condition(job, "Failed"):
        return None
    return Explanation(
        area="workload",
        reason="ManagedBy",
        text=f"{name} is left to another controller, {manager}: the built-in one makes no pods for it.",
        advice=f"See that {manager} runs; spec.managedBy of a Job cannot be changed.",
        evidence=(Source(kind="spec", name="spec.managedBy", detail=manager or ""),),
    )


def _failed(job: Job, name: str, pods: Sequence[tuple[Pod, Explanation]]) -> Explanation | None:
    found = _condition(job, "Failed")
    state = "has failed"
    if found is None:
        found, state = _condition(job, "FailureTarget"), "is failing, and waits for its pods to end"
    if found is None:
        return None
    text = f"{name} {state} ({found.reason}): {one_line(found.message)}."
    text += f" Failed indexes: {job.status.failed_indexes}." if job.status.failed_indexes else ""
    evidence: tuple[Source, ...] = (source_of_condition(found),)
    container = ""
    ill = next(((pod, answer) for pod, answer in reversed(pods) if not answer.healthy), None)
    if ill is not None:
        text += f" One of its pods is {ill[0].metadata.name}: {ill[1].text}"
        evidence, container = evidence + ill[1].evidence, ill[1].container
    return Explanation(
        area="workload",
        reason=found.reason,
        container=container,
        text=text,
        advice=ADVICE.get(found.reason, ANEW),
        evidence=evidence,
    )


def _waits_for_ends(job: Job, name: str, pods: Sequence[tuple[Pod, Explanation]]) -> Explanation | None:
    """A pod that is being deleted is replaced when it has ended, if the Job says so."""
    ending = [pod for pod, _ in pods if pod.metadata.deletion_timestamp is not None and not is_terminal(pod)]
    policy = job.spec.pod_replacement_policy
    rest = sum(not is_terminal(pod) for pod, _ in pods) - len(ending)
    if policy != "Failed" or not ending or rest >= wanted_by_job(job):
        return None
    return Explanation(
        area="workload",
        reason="PodReplacementPolicy",
        text=f"{name} replaces a pod only when it has ended (podReplacementPolicy Failed), and {len(ending)} "
        f"are still being deleted, for one {ending[0].metadata.name}.",
        advice=f"podling why {ending[0].metadata.name} -n {ending[0].metadata.namespace}",
        evidence=(Source(kind="spec", name="spec.podReplacementPolicy", detail=policy),),
    )
