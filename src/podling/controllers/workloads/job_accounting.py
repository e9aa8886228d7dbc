"""Counting a job's pods as they end. Pure.

Counting is exact although pods may vanish: a pod carries a finalizer until its end is in the job's
status. First its UID is written into ``uncountedTerminatedPods``; then its finalizer goes; then it moves
into the counters. (The successes of an Indexed job are counted by index instead.) ``account`` computes
one such step from the job as stored and the pods as seen, so a crash between steps counts nothing twice.

Upstream: ``pkg/controller/job/job_controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from msgspec import Struct

from podling.api.batch_v1 import Job, UncountedTerminatedPods
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job_failures import FAIL_INDEX, FAIL_JOB, IGNORE, match
from podling.controllers.workloads.job_indexes import Indexes, index_of
from podling.machinery.moments import shifted
from podling.machinery.numbers import natural
from podling.machinery.pods import condition

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"
UNCOUNTED_MAX = 500
"""The number of ended pods that one step counts: their UIDs are in the status for a while."""


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


class Account(Struct, frozen=True):
    """The counts after this step, and the pods that need their finalizer no more."""

    succeeded: int
    failed: int
    uncounted: UncountedTerminatedPods
    completed_indexes: Indexes
    failed_indexes: Indexes
    release: tuple[Pod, ...]
    new_successes: tuple[Pod, ...]
    new_failures: tuple[Pod, ...]
    fail_job: str = ""
    """Why the pod failure policy fails the job; empty if it does not."""

    later: Later = msgspec.field(default_factory=lambda: Later())

    @property
    def all_succeeded(self) -> int:
        """Every success so far, also those that are not yet in the counter."""
        return self.succeeded + len(self.uncounted.succeeded) + self.later.succeeded

    @property
    def all_failed(self) -> int:
        return self.failed + len(self.uncounted.failed) + self.later.failed

    @property
    def all_completed_indexes(self) -> Indexes:
        return self.completed_indexes | self.later.completed_indexes

    @property
    def all_failed_indexes(self) -> Indexes:
        return self.failed_indexes | self.later.failed_indexes


class Later(Struct, frozen=True):
    """Ended pods that a later step takes in. What to run next depends on them already."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: Indexes = msgspec.field(default_factory=Indexes)
    failed_indexes: Indexes = msgspec.field(default_factory=Indexes)

    @property
    def is_empty(self) -> bool:
        return not (self.succeeded or self.failed)


@dataclass(slots=True)
class _Ledger:
    """``account`` in the making."""

    job: Job
    succeeded: int
    failed: int
    uncounted_succeeded: list[str]
    uncounted_failed: list[str]
    completed: Indexes
    failed_indexes: Indexes
    """The counts in the status; the next two are new."""
    new_completed: set[int] = field(default_factory=set)
    new_failed_indexes: set[int] = field(default_factory=set)
    release: list[Pod] = field(default_factory=list)
    new_successes: list[Pod] = field(default_factory=list)
    new_failures: list[Pod] = field(default_factory=list)
    fail_job: str = ""

    def take_success(self, pod: Pod) -> None:
        if not is_indexed(self.job):
            self.uncounted_succeeded.append(pod.metadata.uid or "")
            self.new_successes.append(pod)
            return
        index = index_of(pod)
        if index is None or index >= (self.job.spec.completions or 0) or self._has_failed(index):
            self.release.append(pod)
        elif index in self.completed:
            self.release.append(pod)  # written already: nothing is lost
        else:
            self.new_completed.add(index)
            self.new_successes.append(pod)

    def _has_failed(self, index: int) -> bool:
        return index in self.failed_indexes or index in self.new_failed_indexes

    @property
    def taken(self) -> int:
        """The number of pods that the status will name."""
        return len(self.new_completed) + len(self.uncounted_succeeded) + len(self.uncounted_failed)

    def take_failure(self, pod: Pod) -> None:
        found = match(self.job.spec.pod_failure_policy, pod)
        if found.action == FAIL_JOB:
            self.fail_job = self.fail_job or found.message
        if found.action == IGNORE and not per_index(self.job):
            self.release.append(pod)
            return
        self.new_failures.append(pod)
        if found.action == IGNORE:
            return
        self.uncounted_failed.append(pod.metadata.uid or "")
        index = index_of(pod)
        if not per_index(self.job) or index is None or index in self.completed or index in self.new_completed:
            return
        limit = self.job.spec.backoff_limit_per_index or 0
        if found.action == FAIL_INDEX or failure_count(pod) + 1 > limit:
            self.new_failed_indexes.add(index)


def account(job: Job, pods: Sequence[Pod]) -> Account:
    """Return one step of counting. It takes in a bounded number of pods; the others are counted ``later``."""
    whole = _count(job, pods, None)
    if whole.taken <= UNCOUNTED_MAX:
        return _account(job, whole, Later())
    step = _count(job, pods, UNCOUNTED_MAX)
    later = Later(
        len(whole.uncounted_succeeded)
        - len(step.uncounted_succeeded)
        + len(whole.new_completed)
        - len(step.new_completed),
        len(whole.uncounted_failed) - len(step.uncounted_failed),
        Indexes.of(whole.new_completed - step.new_completed),
        Indexes.of(whole.new_failed_indexes - step.new_failed_indexes),
    )
    step.fail_job = whole.fail_job
    return _account(job, step, later)


def _count(job: Job, pods: Sequence[Pod], most: int | None) -> _Ledger:
    """Take in the ended pods, ``most`` of them if that is given."""
    status, completions = job.status, job.spec.completions or 0
    stored = status.uncounted_terminated_pods or UncountedTerminatedPods()
    held = {pod.metadata.uid: pod for pod in pods if tracked(pod)}
    ledger = _Ledger(
        job,
        (status.succeeded or 0) + sum(uid not in held for uid in stored.succeeded),
        (status.failed or 0) + sum(uid not in held for uid in stored.failed),
        [uid for uid in stored.succeeded if uid in held],
        [uid for uid in stored.failed if uid in held],
        Indexes.parse(status.completed_indexes, completions),
        Indexes.parse(status.failed_indexes, completions) if per_index(job) else Indexes(),
    )
    kept = _last_failures(job, pods)
    written = {*stored.succeeded, *stored.failed}
    for uid, pod in held.items():
        if uid in written:
            if uid not in kept:
                ledger.release.append(pod)
        elif most is not None and ledger.taken >= most:
            continue
        elif pod.status.phase == "Succeeded":
            ledger.take_success(pod)
        elif has_failed(job, pod):
            ledger.take_failure(pod)
    return ledger


def _account(job: Job, ledger: _Ledger, later: Later) -> Account:
    completed = ledger.completed | Indexes.of(ledger.new_completed)
    return Account(
        len(completed) if is_indexed(job) else ledger.succeeded,
        ledger.failed,
        UncountedTerminatedPods(
            succeeded=tuple(ledger.uncounted_succeeded), failed=tuple(ledger.uncounted_failed)
        ),
        completed,
        ledger.failed_indexes | Indexes.of(ledger.new_failed_indexes),
        tuple(ledger.release),
        tuple(ledger.new_successes),
        tuple(ledger.new_failures),
        ledger.fail_job,
        later,
    )


def _last_failures(job: Job, pods: Iterable[Pod]) -> set[str]:
    """Return the failed pods that alone remember how often their index failed, until a successor does."""
    if not per_index(job):
        return set()
    last: dict[int, Pod] = {}
    for pod in sorted(pods, key=_by_failures):
        index = index_of(pod)
        if index is not None:
            last[index] = pod
    done = Indexes.parse(job.status.failed_indexes, job.spec.completions or 0)
    done |= Indexes.parse(job.status.completed_indexes, job.spec.completions or 0)
    return {
        pod.metadata.uid or "" for index, pod in last.items() if index not in done and has_failed(job, pod)
    }


def _by_failures(pod: Pod) -> int:
    return failure_count(pod) + ignored_count(pod)


def failure_count(pod: Pod) -> int:
    """Return the number of failures of the pod's index before this pod."""
    return _number(pod, INDEX_FAILURES)


def ignored_count(pod: Pod) -> int:
    return _number(pod, INDEX_IGNORED)


def _number(pod: Pod, annotation: str) -> int:
    return natural(pod.metadata.annotations.get(annotation, "")) or 0


def by_index(pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    found: dict[int, list[Pod]] = {}
    for pod in pods:
        if (index := index_of(pod)) is not None:
            found.setdefault(index, []).append(pod)
    return found


def index_history(job: Job, pods: Iterable[Pod]) -> tuple[int, int, datetime | None]:
    """Return how often an index, whose pods these are, failed, how often that was ignored, and when it last
    did."""
    failed = [pod for pod in pods if has_failed(job, pod)]
    if not failed:
        return 0, 0, None
    last = max(failed, key=_by_failures)
    ignored = match(job.spec.pod_failure_policy, last).action == IGNORE
    return (
        failure_count(last) + (not ignored),
        ignored_count(last) + ignored,
        max(map(finished_at, failed)),
    )


def finished_at(pod: Pod) -> datetime:
    """Return the time when the pod ended, as far as known."""
    ends = [
        status.state.terminated.finished_at
        for status in pod.status.container_statuses
        if status.state.terminated is not None
    ]
    known = [end for end in ends if end is not None]
    if known and len(known) == len(pod.status.container_statuses):
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
