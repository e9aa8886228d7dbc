"""The metrics of the Job controller, under Kubernetes' names.

Source of names, labels and buckets: ``pkg/controller/job/metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from podling.api.batch_v1 import Job, JobCondition, JobStatus
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job_accounting import Account
from podling.controllers.workloads.job_failures import match
from podling.controllers.workloads.job_indexes import Indexes
from podling.controllers.workloads.job_pod_rules import is_indexed, per_index, tracked
from podling.machinery.histograms import Histogram, counters, histograms
from podling.machinery.pods import is_terminal

RECONCILING, TRACKING, CREATED, DELETED = "reconciling", "tracking", "pods_created", "pods_deleted"
"""The action of a run: waiting for its own writes, none, pods created, pods deleted."""
SYNC_SECONDS = tuple(0.004 * 2.0**power for power in range(15))

_SYNC = ("completion_mode", "result", "action")


class JobMetrics:
    """Counts of the runs, and of what happened to Jobs and pods."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str, str], Histogram] = {}
        self._finished: Counter[tuple[str, str, str]] = Counter()
        self._external: Counter[tuple[str]] = Counter()
        self._pods: Counter[tuple[str, str]] = Counter()
        self._policy: Counter[tuple[str]] = Counter()
        self._terminated: Counter[tuple[str]] = Counter()
        self._indexes: Counter[tuple[str, str]] = Counter()
        self._created: Counter[tuple[str, str]] = Counter()

    def record_sync(self, job: Job, action: str, seconds: float, *, succeeded: bool) -> None:
        labels = (_mode(job), "success" if succeeded else "error", action)
        found = self._seconds.get(labels)
        if found is None:
            found = self._seconds[labels] = Histogram(SYNC_SECONDS)
        found.observe(seconds)

    def record_external(self, job: Job) -> None:
        """Count a new Job that another controller manages."""
        self._external[(job.spec.managed_by or "",)] += 1

    def record_end(self, job: Job, condition: JobCondition) -> None:
        done = condition.type == "Complete"
        reason = "" if done else condition.reason or ""
        self._finished[_mode(job), "succeeded" if done else "failed", reason] += 1

    def record_creations(
        self, job: Job, accounted: Account, terminating: int, made: int, failed: int
    ) -> None:
        reason = "new"
        if job.spec.pod_replacement_policy == "Failed" and accounted.all_failed > 0:
            reason = "recreate_failed"
        elif accounted.all_failed > 0 or terminating > 0:
            reason = "recreate_terminating_or_failed"
        for status, number in (("succeeded", made), ("failed", failed)):
            if number:
                self._created[reason, status] += number

    def record_policy(self, job: Job, failures: Iterable[Pod]) -> None:
        """Count the failures that a rule of the pod failure policy decided about."""
        for pod in failures:
            found = match(job.spec.pod_failure_policy, pod)
            if found.message:
                self._policy[(found.action,)] += 1

    def record_progress(self, job: Job, status: JobStatus) -> None:
        """Count the pods and indexes that are in ``status`` and not in the Job's own one."""
        before, mode, completions = job.status, _mode(job), job.spec.completions or 0
        done = (status.succeeded or 0) - (before.succeeded or 0)
        if is_indexed(job):
            done = _number(status.completed_indexes, completions)
            done -= _number(before.completed_indexes, completions)
            limit = "perIndex" if per_index(job) else "global"
            failed = _number(status.failed_indexes, completions) - _number(before.failed_indexes, completions)
            self._indexes["succeeded", limit] += max(done, 0)
            self._indexes["failed", limit] += max(failed, 0)
        self._pods[mode, "succeeded"] += max(done, 0)
        self._pods[mode, "failed"] += max((status.failed or 0) - (before.failed or 0), 0)

    def record_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Count ended pods that get the tracking finalizer, or lose it."""
        was, is_ = _is_held(old), _is_held(new)
        if was != is_:
            self._terminated["add" if is_ else "delete",] += 1

    def families(self) -> Iterator[Any]:
        """Yield the families of ``prometheus_client``."""
        yield histograms(
            "job_controller_job_sync_duration_seconds",
            "[STABLE] The time it took to sync a job",
            _SYNC,
            self._seconds,
        )
        syncs = {labels: histogram.count for labels, histogram in self._seconds.items()}
        yield counters("job_controller_job_syncs", "[STABLE] The number of job syncs", _SYNC, syncs)
        yield counters(
            "job_controller_jobs_finished",
            "[STABLE] The number of finished jobs",
            ("completion_mode", "result", "reason"),
            self._finished,
        )
        yield counters(
            "job_controller_jobs_by_external_controller",
            "[ALPHA] The number of Jobs managed by an external controller",
            ("controller_name",),
            self._external,
        )
        yield counters(
            "job_controller_job_pods_finished",
            "[STABLE] The number of finished Pods that are fully tracked",
            ("completion_mode", "result"),
            self._pods,
        )
        yield counters(
            "job_controller_pod_failures_handled_by_failure_policy",
            "[ALPHA] The number of failed Pods handled by failure policy, by the action of the matched rule",
            ("action",),
            self._policy,
        )
        yield counters(
            "job_controller_terminated_pods_tracking_finalizer",
            "[ALPHA] The number of terminated pods (phase=Failed|Succeeded) that have the finalizer "
            'batch.kubernetes.io/job-tracking. The event label can be "add" or "delete".',
            ("event",),
            self._terminated,
        )
        yield counters(
            "job_controller_job_finished_indexes",
            "[ALPHA] The number of finished indexes",
            ("status", "backoffLimit"),
            self._indexes,
        )
        yield counters(
            "job_controller_job_pods_creation",
            "[ALPHA] The number of Pods created by the Job controller, by the reason for their creation",
            ("reason", "status"),
            self._created,
        )


def _mode(job: Job) -> str:
    return "Indexed" if is_indexed(job) else "NonIndexed"


def _number(indexes: str | None, completions: int) -> int:
    return len(Indexes.parse(indexes, completions))


def _is_held(pod: Pod | None) -> bool:
    return pod is not None and is_terminal(pod) and tracked(pod)
