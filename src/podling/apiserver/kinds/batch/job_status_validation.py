"""Validation of changes of a Job's status, by the Job controller or by an external manager.

Upstream: ``ValidateJobStatusUpdate`` in ``pkg/apis/batch/validation/validation.go`` and
``getStatusValidationOptions`` in ``pkg/registry/batch/job/strategy.go``. Unchanged fields are not checked, so
that an older invalid status can be corrected step by step.
"""

from __future__ import annotations

from podling.api.batch_v1 import Job, JobStatus
from podling.apiserver.kinds.batch.index_list_validation import IndexesError, common_index, count_indexes
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields
from podling.machinery.fields import OMITTED, Path

STATUS = Path("status")
CONDITIONS = STATUS.child("conditions")
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def job_status_errors(new: Job, old: Job) -> Errors:
    errors = _count_errors(new.status) + _uncounted_errors(new.status)
    errors += _condition_errors(new, old)
    errors += _time_errors(new, old)
    errors += _finished_errors(new, old)
    errors += _index_errors(new, old)
    return errors + _regression_errors(new, old)


def true_conditions(job: Job) -> set[str]:
    return {condition.type for condition in job.status.conditions if condition.status == "True"}


def _is_finished(job: Job) -> bool:
    return bool(true_conditions(job) & {"Complete", "Failed"})


def _has_changed(new: Job, old: Job, *attributes: str) -> bool:
    return any(getattr(new.status, name) != getattr(old.status, name) for name in attributes)


def _count_errors(status: JobStatus) -> Errors:
    errors: Errors = []
    for name in _COUNTS:
        errors += checks.non_negative(STATUS.child(name), getattr(status, name))
    return errors


def _uncounted_errors(status: JobStatus) -> Errors:
    uncounted, path = status.uncounted_terminated_pods, STATUS.child("uncountedTerminatedPods")
    errors: Errors = []
    seen: set[str] = set()
    for name, uids in (("succeeded", uncounted.succeeded), ("failed", uncounted.failed)) if uncounted else ():
        for position, uid in enumerate(uids):
            here = path.child(name).index(position)
            errors += [] if uid else [fields.invalid(here, uid, "must not be empty")]
            errors += [fields.duplicate(here, uid)] if uid and uid in seen else []
            seen.add(uid)
    return errors


def _condition_errors(new: Job, old: Job) -> Errors:
    """Return errors for conditions that exclude or require one another."""
    now, before = true_conditions(new), true_conditions(old)

    def has_changed(*kinds: str) -> bool:
        return bool((now ^ before) & {*kinds})

    rules = (
        (
            has_changed("Complete", "Failed") and {"Complete", "Failed"} <= now,
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            has_changed("Complete", "FailureTarget") and {"Complete", "FailureTarget"} <= now,
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (has_changed("Failed") or _has_changed(new, old, "failed_indexes"))
            and "Failed" in now
            and "FailureTarget" not in now,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            has_changed("Complete", "SuccessCriteriaMet")
            and "Complete" in now
            and "SuccessCriteriaMet" not in now,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            {"SuccessCriteriaMet", "Failed"} <= now,
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            {"SuccessCriteriaMet", "FailureTarget"} <= now,
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            new.spec.success_policy is not None and "Complete" in now and "SuccessCriteriaMet" not in now,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        ),
    )
    return [fields.invalid(CONDITIONS, OMITTED, text) for wrong, text in rules if wrong]


def _time_errors(new: Job, old: Job) -> Errors:
    path, done = STATUS.child("completionTime"), new.status.completion_time
    complete = "Complete" in true_conditions(new)
    errors: Errors = []
    if complete != ("Complete" in true_conditions(old)) or _has_changed(new, old, "completion_time"):
        if done is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(fields.invalid(path, done, text))
        if done is None and complete:
            errors.append(fields.required(path, "completionTime is required for Complete jobs"))
    start = new.status.start_time
    if _has_changed(new, old, "start_time", "completion_time") and start and done and done < start:
        errors.append(fields.invalid(path, done, "must be equal to or after `startTime`"))
    return errors


def _finished_errors(new: Job, old: Job) -> Errors:
    """Return errors for a finished Job without a start, with active pods or with uncounted pods."""
    status, ended = new.status, _is_finished(new)
    ending = ended != _is_finished(old)
    errors: Errors = []
    if ended and (ending or _has_changed(new, old, "active")) and status.active:
        text = "active>0 is invalid for finished job"
        errors.append(fields.invalid(STATUS.child("active"), status.active, text))
    is_unstarted = not new.spec.suspend and status.start_time is None
    if ended and (ending or _has_changed(new, old, "start_time")) and is_unstarted:
        errors.append(fields.required(STATUS.child("startTime"), "startTime is required for finished job"))
    uncounted = status.uncounted_terminated_pods
    looked_at = ended and (ending or _has_changed(new, old, "uncounted_terminated_pods"))
    if looked_at and uncounted is not None and (uncounted.failed or uncounted.succeeded):
        where = STATUS.child("uncountedTerminatedPods")
        text = "must be empty for finished job"
        shown = fields.in_go(Succeeded=uncounted.succeeded or None, Failed=uncounted.failed or None)
        errors.append(fields.invalid(where, shown, text))
    if ended and (ending or _has_changed(new, old, "terminating")) and status.terminating:
        text = "terminating>0 is invalid for finished job"
        errors.append(fields.invalid(STATUS.child("terminating"), status.terminating, text))
    ready = status.ready
    if _has_changed(new, old, "ready", "active") and ready is not None and ready > (status.active or 0):
        text = "cannot set more ready pods than active"
        errors.append(fields.invalid(STATUS.child("ready"), ready, text))
    return errors


def _index_errors(new: Job, old: Job) -> Errors:
    spec, limit = new.spec, new.spec.completions
    completed, failed = new.status.completed_indexes or "", new.status.failed_indexes
    where, failed_where = STATUS.child("completedIndexes"), STATUS.child("failedIndexes")
    changed, failures_changed = (
        _has_changed(new, old, "completed_indexes"),
        _has_changed(new, old, "failed_indexes"),
    )
    errors: Errors = []
    if changed and limit is not None:
        errors += _index_list_errors(where, completed, limit)
    if (
        failures_changed
        and failed is not None
        and limit is not None
        and spec.backoff_limit_per_index is not None
    ):
        errors += _index_list_errors(failed_where, failed, limit)
    if changed and completed and spec.completion_mode != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(fields.invalid(where, completed, text))
    if failures_changed and failed is not None and spec.backoff_limit_per_index is None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(fields.invalid(failed_where, failed, text))
    if (changed or failures_changed) and limit is not None and failed is not None and not errors:
        both = common_index(completed, failed, limit)
        if both is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {both}"
            errors.append(fields.invalid(failed_where, failed, text))
    return errors


def _index_list_errors(path: Path, text: str, completions: int) -> Errors:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        name = str(path).rpartition(".")[2]
        return [fields.invalid(path, text, f"error parsing {name}: {error}")]
    return []


def _regression_errors(new: Job, old: Job) -> Errors:
    """Return errors for counters that fall, and for terminal conditions and times that are taken back."""
    now, before = true_conditions(new), true_conditions(old)
    errors: Errors = [
        fields.invalid(CONDITIONS, OMITTED, f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if kind in before - now
    ]
    if (new.status.failed or 0) < (old.status.failed or 0):
        where = STATUS.child("failed")
        errors.append(fields.invalid(where, new.status.failed or 0, "cannot decrease the failed counter"))
    elastic = new.spec.completion_mode == "Indexed" and new.spec.completions == new.spec.parallelism
    if not elastic and (new.status.succeeded or 0) < (old.status.succeeded or 0):
        where = STATUS.child("succeeded")
        errors.append(
            fields.invalid(where, new.status.succeeded or 0, "cannot decrease the succeeded counter")
        )
    done, was = new.status.completion_time, old.status.completion_time
    if done is not None and was is not None and done != was:
        where = STATUS.child("completionTime")
        errors.append(fields.invalid(where, done, checks.IMMUTABLE))
    moved = old.status.start_time is not None and _has_changed(new, old, "start_time")
    if moved and not new.spec.suspend and "Suspended" not in before - now:  # a resumed Job restarts
        text = "startTime cannot be removed for unsuspended job"
        errors.append(fields.required(STATUS.child("startTime"), text))
    if "SuccessCriteriaMet" in before - now:
        text = "cannot disable the SuccessCriteriaMet=True condition"
        errors.append(fields.invalid(CONDITIONS, OMITTED, text))
    if "Complete" in before and "SuccessCriteriaMet" in now - before:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(fields.invalid(CONDITIONS, OMITTED, text))
    return errors
