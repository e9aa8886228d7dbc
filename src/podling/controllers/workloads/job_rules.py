"""The pods that a Job still has to run, its end, and its back-off after failures. Pure.

Upstream: ``pkg/controller/job/job_controller.go`` and ``backoff_utils.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job_accounting import Account
from podling.controllers.workloads.job_indexes import Indexes, index_of, rule_met
from podling.controllers.workloads.job_pod_rules import (
    fail_message,
    failure_count,
    finished_at,
    ignored_count,
    is_indexed,
    per_index,
    replaces_failed_only,
)

CONTROLLER_NAME = "kubernetes.io/job-controller"
"""The manager of Jobs that name none."""
PODS_PER_STEP_MAX = 500
BACKOFF_SECONDS_INITIAL = 10.0
BACKOFF_SECONDS_MAX = 600.0


class Step(Struct, frozen=True):
    """Pods to create (with their indexes, for an Indexed job) and to delete now; ``wait`` seconds before
    more can be created."""

    create: int = 0
    indexes: tuple[int, ...] = ()
    delete: tuple[Pod, ...] = ()
    wait: float | None = None


def next_step(
    job: Job, active: Sequence[Pod], ordered: Sequence[Pod], accounted: Account, terminating: Sequence[Pod]
) -> Step:
    """Return the creations and deletions towards the desired number of active pods, without back-off.

    Args:
        ordered: the active pods, those to give up first coming first.
        terminating: pods that are being deleted and have not ended. They count only if failed pods alone are
            replaced.
    """
    if job.spec.suspend:
        return Step(delete=tuple(active))
    parallelism, completions = job.spec.parallelism, job.spec.completions
    parallelism = 1 if parallelism is None else parallelism
    if completions is None:
        want = len(active) if accounted.all_succeeded else parallelism
    else:
        want = max(0, min(completions - accounted.all_succeeded, parallelism))
    doomed = to_remove(job, ordered, max(0, len(active) - want))
    if doomed:
        return Step(delete=tuple(doomed[:PODS_PER_STEP_MAX]))
    waited_for = terminating if replaces_failed_only(job) else ()
    missing = want - len(active) - len(waited_for)
    if missing <= 0:
        return Step()
    missing = min(missing, PODS_PER_STEP_MAX)
    if not is_indexed(job):
        return Step(create=missing)
    taken = Indexes.of(index for pod in (*active, *waited_for) if (index := index_of(pod)) is not None)
    taken = taken | accounted.all_completed_indexes | accounted.failed_indexes
    indexes = taken.free(missing, completions or 0)
    return Step(create=len(indexes), indexes=tuple(indexes))


def to_remove(job: Job, ordered: Sequence[Pod], surplus: int) -> list[Pod]:
    """Return pods without a place (no index, one too high, or taken already), then the cheapest."""
    if not is_indexed(job):
        return list(ordered[:surplus])
    misplaced: list[Pod] = []
    placed: dict[int, Pod] = {}
    for pod in reversed(ordered):  # of several pods for one index the one that ranks last for deletion stays
        index = index_of(pod)
        if index is None or index >= (job.spec.completions or 0) or index in placed:
            misplaced.append(pod)
        else:
            placed[index] = pod
    others = list(placed.values())[::-1]
    return [*misplaced, *others[: max(0, surplus - len(misplaced))]]


# When to stop


class Verdict(Struct, frozen=True):
    """The reason why a Job is over, and whether it succeeded."""

    succeeded: bool
    reason: str
    message: str


def failure(job: Job, pods: Sequence[Pod], accounted: Account, now: datetime) -> Verdict | None:
    """Return the verdict that the Job has failed; None if it has not."""
    message = fail_message(job, pods)
    if message:
        return Verdict(False, "PodFailurePolicy", message)
    limit = job.spec.backoff_limit if job.spec.backoff_limit is not None else 6
    exceeded = Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if accounted.all_failed > limit or _restarted_too_often(job, pods, limit):
        return exceeded
    if past_deadline(job, now):
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return _indexes_failed(job, accounted) if per_index(job) else None


def _restarted_too_often(job: Job, pods: Iterable[Pod], limit: int) -> bool:
    """With ``OnFailure`` the restarts in place count as the failures."""
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts > 0 if limit == 0 else restarts >= limit


def _indexes_failed(job: Job, accounted: Account) -> Verdict | None:
    limit, failed = job.spec.max_failed_indexes, len(accounted.failed_indexes)
    if limit is not None and failed > limit:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Verdict(False, "MaxFailedIndexesExceeded", message)
    if failed and failed + len(accounted.all_completed_indexes) >= (job.spec.completions or 0):
        return Verdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def past_deadline(job: Job, now: datetime) -> bool:
    left = seconds_to_deadline(job, now)
    return left is not None and left <= 0


def seconds_to_deadline(job: Job, now: datetime) -> float | None:
    """Return the time that the Job may still be active; None without a limit."""
    limit, started = job.spec.active_deadline_seconds, job.status.start_time
    if limit is None or started is None or job.spec.suspend:
        return None
    return limit - (now - started) / timedelta(seconds=1)


def early_success(job: Job, accounted: Account) -> Verdict | None:
    """Return whether the success policy ends the job while pods still run."""
    if job.spec.success_policy is None or not is_indexed(job):
        return None
    rules, completions = job.spec.success_policy.rules, job.spec.completions or 0
    number = rule_met(rules, accounted.all_completed_indexes, completions)
    return Verdict(True, "SuccessPolicy", f"Matched rules at index {number}") if number is not None else None


def completion(job: Job, accounted: Account, active: int) -> Verdict | None:
    """Return whether everything that was wanted has succeeded."""
    done = accounted.all_succeeded
    if job.spec.completions is None:
        reached = done > 0 and active == 0
    else:
        reached = done >= job.spec.completions and active == 0
    if not reached:
        return None
    return Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


# Back-off


class Backoff(Struct, frozen=True):
    """Failures in a row since the last success, and when the last one was.

    ``noted``: pods (UIDs) among these failures that no status names: the pod failure policy ignores them.
    """

    failures: int = 0
    last: datetime | None = None
    noted: frozenset[str] = frozenset()


def after(backoff: Backoff, accounted: Account) -> Backoff:
    """``backoff`` after the pods that ended since. A success ends the row, with failures at the same time."""
    ended = [
        (finished_at(pod), False) for pod in accounted.new_failures if pod.metadata.uid not in backoff.noted
    ]
    ended += [(finished_at(pod), True) for pod in accounted.new_successes]
    for moment, good in sorted(ended):
        backoff = Backoff() if good else Backoff(backoff.failures + 1, moment)
    noted = frozenset(pod.metadata.uid or "" for pod in accounted.ignored)
    return replace(backoff, noted=noted)


def index_backoff_seconds(last: Pod | None, now: datetime) -> float:
    """Return the time to wait before the next pod of an index, of which ``last`` was the last to fail."""
    if last is None:
        return 0.0
    return backoff_seconds(Backoff(failure_count(last) + ignored_count(last) + 1, finished_at(last)), now)


def backoff_seconds(backoff: Backoff, now: datetime) -> float:
    """Return the time to wait before the next pod may be created."""
    if not backoff.failures or backoff.last is None:
        return 0.0
    delay = min(BACKOFF_SECONDS_INITIAL * 2.0 ** min(backoff.failures - 1, 20), BACKOFF_SECONDS_MAX)
    return max(0.0, delay - (now - backoff.last) / timedelta(seconds=1))
