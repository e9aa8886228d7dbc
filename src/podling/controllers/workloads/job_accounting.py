"""Counting a job's pods as they end. Pure.

Counting is exact although pods may vanish: a pod carries a finalizer until its end is in the job's
status. First its UID is written into ``uncountedTerminatedPods``; then its finalizer goes; then it moves
into the counters. (The successes of an Indexed job are counted by index instead.) ``account`` computes
one such step from the job as stored and the pods as seen, so a crash between steps counts nothing twice.

Upstream: ``pkg/controller/job/job_controller.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from podling.api.batch_v1 import Job, UncountedTerminatedPods
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job_failures import IGNORE, match
from podling.controllers.workloads.job_indexes import Indexes
from podling.controllers.workloads.job_pod_rules import (
    delayed_pods,
    has_failed,
    is_indexed,
    newly_failed,
    per_index,
    tracked,
    valid_index,
)

UNCOUNTED_MAX = 500
"""The number of ended pods that one step counts: their UIDs are in the status for a while."""


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
    ignored: tuple[Pod, ...] = ()
    """New failures that the pod failure policy ignores."""
    delayed: int = 0
    """New failures that are counted once their indexes have a new pod."""
    later: Later = msgspec.field(default_factory=lambda: Later())

    @property
    def all_succeeded(self) -> int:
        """Every success so far, also those that are not yet in the counter."""
        return self.succeeded + len(self.uncounted.succeeded) + self.later.succeeded

    @property
    def all_failed(self) -> int:
        return self.failed + len(self.uncounted.failed) + self.delayed + self.later.failed

    @property
    def all_completed_indexes(self) -> Indexes:
        return self.completed_indexes | self.later.completed_indexes


class Later(Struct, frozen=True):
    """Ended pods that a later step takes in. What to run next depends on them already."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: Indexes = msgspec.field(default_factory=Indexes)

    @property
    def is_empty(self) -> bool:
        return not (self.succeeded or self.failed)


@dataclass(slots=True)
class _Ledger:
    """``account`` in the making."""

    job: Job
    ended: bool | None
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
    ignored: list[Pod] = field(default_factory=list)
    delayed: int = 0

    @property
    def taken(self) -> int:
        """The number of pods that the status will name."""
        return len(self.new_completed) + len(self.uncounted_succeeded) + len(self.uncounted_failed)

    def take(self, pod: Pod, kept: set[str]) -> None:
        """Take in a pod that is not in the status yet, if it has ended or the job is over."""
        over = self.ended is not None or self.job.metadata.deletion_timestamp is not None
        if pod.status.phase == "Succeeded":
            self._take_success(pod)
        elif has_failed(self.job, pod):
            if pod.metadata.uid in kept and not over:
                self._delay(pod)
            else:
                self._take_failure(pod)
        elif self.ended is False:  # of a failed job every pod has failed
            self._take_failure(pod)
        elif over:
            self.release.append(pod)

    def _take_success(self, pod: Pod) -> None:
        if not is_indexed(self.job):
            self.uncounted_succeeded.append(pod.metadata.uid or "")
            self.new_successes.append(pod)
            return
        index = valid_index(self.job, pod)
        if index is None or self._has_failed(index):
            self.release.append(pod)
        elif index in self.completed:
            self.release.append(pod)  # written already: nothing is lost
        else:
            self.new_completed.add(index)
            self.new_successes.append(pod)

    def _has_failed(self, index: int) -> bool:
        return index in self.failed_indexes or index in self.new_failed_indexes

    def _take_failure(self, pod: Pod) -> None:
        if is_indexed(self.job) and valid_index(self.job, pod) is None:
            self.release.append(pod)
            return
        self.new_failures.append(pod)
        if match(self.job.spec.pod_failure_policy, pod).action == IGNORE:
            self.ignored.append(pod)
            self.release.append(pod)
            return
        self.uncounted_failed.append(pod.metadata.uid or "")

    def _delay(self, pod: Pod) -> None:
        """Leave a pod uncounted until its successor remembers how often the index failed."""
        self.new_failures.append(pod)
        if match(self.job.spec.pod_failure_policy, pod).action != IGNORE:
            self.delayed += 1


def account(job: Job, pods: Sequence[Pod], ended: bool | None = None) -> Account:
    """Return one step of counting. It takes in a bounded number of pods; the others are counted ``later``.

    Args:
        ended: the job is over, and has succeeded or not. Then its running pods are let go of: those of a job
            that failed count as failures.
    """
    whole = _count(job, pods, None, ended)
    if whole.taken <= UNCOUNTED_MAX:
        return _account(job, whole, Later())
    step = _count(job, pods, UNCOUNTED_MAX, ended)
    later = Later(
        len(whole.uncounted_succeeded)
        - len(step.uncounted_succeeded)
        + len(whole.new_completed)
        - len(step.new_completed),
        len(whole.uncounted_failed) - len(step.uncounted_failed),
        Indexes.of(whole.new_completed - step.new_completed),
    )
    return _account(job, step, later)


def _count(job: Job, pods: Sequence[Pod], most: int | None, ended: bool | None) -> _Ledger:
    """Take in the ended pods, ``most`` of them if that is given."""
    status, completions = job.status, job.spec.completions or 0
    stored = status.uncounted_terminated_pods or UncountedTerminatedPods()
    held = {pod.metadata.uid: pod for pod in pods if tracked(pod)}
    ledger = _Ledger(
        job,
        ended,
        (status.succeeded or 0) + sum(uid not in held for uid in stored.succeeded),
        (status.failed or 0) + sum(uid not in held for uid in stored.failed),
        [uid for uid in stored.succeeded if uid in held],
        [uid for uid in stored.failed if uid in held],
        Indexes.parse(status.completed_indexes, completions),
        Indexes.parse(status.failed_indexes, completions) if per_index(job) else Indexes(),
    )
    ledger.new_failed_indexes = newly_failed(job, held.values(), ledger.completed)
    delayed = delayed_pods(job, pods, ledger.new_failed_indexes)
    kept = {pod.metadata.uid or "" for pod in delayed.values()}
    written = {*stored.succeeded, *stored.failed}
    for uid, pod in held.items():
        if uid in written:
            ledger.release.append(pod)
        elif most is None or ledger.taken < most:
            ledger.take(pod, kept)
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
        tuple(ledger.ignored),
        ledger.delayed,
        later,
    )
