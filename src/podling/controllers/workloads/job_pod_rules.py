"""A Job's pods: which have failed, and what their index has been through. Pure.

Upstream: ``indexed_job_utils.go``, ``tracking_utils.go`` and ``backoff_utils.go`` in ``pkg/controller/job``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.controllers.pod_state import is_active
from podling.controllers.workloads.job_failures import FAIL_INDEX, FAIL_JOB, IGNORE, match
from podling.controllers.workloads.job_indexes import Indexes, index_of
from podling.machinery.moments import shifted
from podling.machinery.numbers import natural
from podling.machinery.pods import condition

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed" and job.spec.completions is not None


def per_index(job: Job) -> bool:
    """Return whether failures are counted for each index on its own."""
    return is_indexed(job) and job.spec.backoff_limit_per_index is not None


def replaces_failed_only(job: Job) -> bool:
    """Return whether a pod that is being deleted counts only once it has ended."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def has_failed(job: Job, pod: Pod) -> bool:
    if pod.status.phase == "Failed":
        return True
    if replaces_failed_only(job):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def tracked(pod: Pod) -> bool:
    return FINALIZER in pod.metadata.finalizers


def valid_index(job: Job, pod: Pod) -> int | None:
    """Return the pod's index, if the job has it."""
    index = index_of(pod)
    return index if index is not None and index < (job.spec.completions or 0) else None


def newly_failed(job: Job, held: Iterable[Pod], completed: Indexes) -> set[int]:
    """Return the indexes that failed too often, or that the failure policy fails, since the last step."""
    if not per_index(job):
        return set()
    limit = job.spec.backoff_limit_per_index or 0
    found: set[int] = set()
    for pod in held:
        index = valid_index(job, pod)
        if index is None or index in completed or not has_failed(job, pod):
            continue
        action = match(job.spec.pod_failure_policy, pod).action
        if action == FAIL_INDEX or (action != IGNORE and failure_count(pod) >= limit):
            found.add(index)
    done = {index for pod in held if pod.status.phase == "Succeeded" and (index := index_of(pod)) is not None}
    return found - done


def delayed_pods(job: Job, pods: Iterable[Pod], failed: set[int]) -> dict[int, Pod]:
    """Return the failed pods that alone remember how often their index failed, until a successor does.

    Of several for an index the one with the most failures counts, and of these the last one.

    Args:
        failed: indexes that have failed for good, besides those in the status.
    """
    if not per_index(job):
        return {}
    done = Indexes.parse(job.status.failed_indexes, job.spec.completions or 0)
    done |= Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
    last: dict[int, Pod] = {}
    others: set[int] = set()
    for pod in pods:
        index = valid_index(job, pod)
        if index is None:
            continue
        if is_active(pod) or (pod.status.phase == "Succeeded" and tracked(pod)):
            others.add(index)
        elif tracked(pod) and has_failed(job, pod):
            held = last.get(index)
            if held is None or _last_failure(held) <= _last_failure(pod):
                last[index] = pod
    return {
        index: pod
        for index, pod in last.items()
        if index not in done and index not in failed and index not in others
    }


def _last_failure(pod: Pod) -> tuple[int, datetime]:
    return failure_count(pod) + ignored_count(pod), finished_at(pod)


def failure_count(pod: Pod) -> int:
    """Return the number of failures of the pod's index before this pod."""
    return _number(pod, INDEX_FAILURES)


def ignored_count(pod: Pod) -> int:
    return _number(pod, INDEX_IGNORED)


def _number(pod: Pod, annotation: str) -> int:
    return natural(pod.metadata.annotations.get(annotation, "")) or 0


def index_history(job: Job, last: Pod | None) -> tuple[int, int]:
    """Return how often an index failed and how often that was ignored, by the last pod of it that failed."""
    if last is None:
        return 0, 0
    ignored = match(job.spec.pod_failure_policy, last).action == IGNORE
    return failure_count(last) + (not ignored), ignored_count(last) + ignored


def fail_message(job: Job, pods: Iterable[Pod]) -> str:
    """Return why the pod failure policy fails the job; empty if it does not."""
    policy = job.spec.pod_failure_policy
    if policy is None:
        return ""
    matches = (match(policy, pod) for pod in pods if has_failed(job, pod))
    return next((each.message for each in matches if each.action == FAIL_JOB), "")


def finished_at(pod: Pod) -> datetime:
    """Return the time when the pod ended, as far as known. Sidecars, which are init containers, end last."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    ends = [status.state.terminated for status in statuses if status.state.terminated is not None]
    known = [end.finished_at for end in ends if end.finished_at is not None]
    if known and len(ends) == len(statuses):
        return max(known)
    ready = condition(pod, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    asked = pod.metadata.deletion_timestamp
    if asked is not None:
        return shifted(asked, -(pod.metadata.deletion_grace_period_seconds or 0))
    created = pod.metadata.creation_timestamp
    assert created is not None, "the API server gives every object its time of creation"
    return created
