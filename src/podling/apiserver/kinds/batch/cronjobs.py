"""CronJobs. Upstream: ``pkg/apis/batch``, ``pkg/registry/batch/cronjob``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.batch_v1 import CronJob, CronJobSpec, JobSpec
from podling.apiserver.kinds.apps.workloads import SPEC, name_warnings
from podling.apiserver.kinds.batch.job_validation import job_warnings, validate_job_spec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import (
    AGE,
    NAME,
    NONE,
    POD_TEMPLATE_COLUMNS,
    UNSET,
    age,
    age_since,
    selector_text,
    template_cells,
    value_or_none,
)
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import cron, fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

CONCURRENCY_POLICIES = ("Allow", "Forbid", "Replace")
MAX_NAME = 52
"""The maximum length of names: the controller appends eleven characters for each Job."""

JOB_TEMPLATE = SPEC.child("jobTemplate")

_ZONE_IN_SCHEDULE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
"""The warning about a time zone in the schedule; only stored schedules may keep one."""


class CronJobRules(KindRules[CronJob]):
    status_subresource = True
    generation = True
    columns = (
        NAME,
        Column("Schedule", description="When Jobs are started"),
        Column("Timezone", description="Whose time the schedule means"),
        Column("Suspend", type="boolean", description="Whether no new Jobs are started"),
        Column("Active", type="integer", description="Jobs that run now"),
        Column("Last Schedule", description="When a Job was started last"),
        AGE,
        *POD_TEMPLATE_COLUMNS,
    )

    def default(self, obj: CronJob) -> CronJob:
        spec = fill_empty(obj.spec, concurrency_policy="Allow")
        spec = fill_absent(spec, suspend=False, successful_jobs_history_limit=3, failed_jobs_history_limit=1)
        template = spec.job_template
        job = change(template.spec, template=default_pod_template(template.spec.template))
        return change(obj, spec=change(spec, job_template=change(template, spec=job)))

    def validate(self, obj: CronJob, context: Context) -> Errors:
        errors = _spec_errors(obj.spec, None)
        if len((obj.metadata.name or "").encode()) > MAX_NAME:
            text = names.max_length_error(MAX_NAME)
            errors.append(fields.invalid(Path("metadata.name"), obj.metadata.name, text))
        return errors

    def validate_update(self, new: CronJob, old: CronJob, context: Context) -> Errors:
        return [] if context.subresource == "status" else _spec_errors(new.spec, old.spec)

    def warnings(self, obj: CronJob, old: CronJob | None, context: Context) -> list[str]:
        changed = old is None or obj.spec != old.spec
        job = obj.spec.job_template.spec
        found = name_warnings(obj, old) + (job_warnings(JOB_TEMPLATE.child("spec"), job) if changed else [])
        return [*found, _ZONE_IN_SCHEDULE] if old is not None and "TZ" in obj.spec.schedule else found

    def row(self, obj: CronJob, now: datetime) -> Sequence[Any]:
        last, suspend = obj.status.last_schedule_time, obj.spec.suspend
        job = obj.spec.job_template.spec
        return (
            obj.metadata.name,
            obj.spec.schedule,
            value_or_none(obj.spec.time_zone),
            UNSET if suspend is None else str(suspend),
            len(obj.status.active),
            NONE if last is None else age_since(last, now),
            age(obj, now),
            *template_cells(job.template.spec),
            selector_text(job.selector),
        )


def _spec_errors(spec: CronJobSpec, old: CronJobSpec | None) -> Errors:
    """Return the errors in a spec. ``old``, the stored spec, may have any time zone, also in its schedule."""
    errors = _schedule_errors(spec, zone_allowed=old is not None and "TZ" in old.schedule)
    errors += checks.non_negative(SPEC.child("startingDeadlineSeconds"), spec.starting_deadline_seconds)
    if spec.time_zone is not None and (old is None or old.time_zone != spec.time_zone):
        errors += _zone_errors(SPEC.child("timeZone"), spec.time_zone)
    where = SPEC.child("concurrencyPolicy")
    errors += checks.required_one_of(where, spec.concurrency_policy, CONCURRENCY_POLICIES)
    errors += _template_errors(JOB_TEMPLATE.child("spec"), spec.job_template.spec)
    for name, limit in (
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
    ):
        errors += checks.non_negative(SPEC.child(name), limit)
    return errors


def _template_errors(path: Path, spec: JobSpec) -> Errors:
    errors = validate_job_spec(path, spec)
    if spec.selector is not None:
        errors.append(
            fields.invalid(path.child("selector"), spec.selector, "`selector` will be auto-generated")
        )
    if spec.manual_selector:
        errors.append(fields.not_supported(path.child("manualSelector"), True, ("nil", "false")))
    return errors


def _schedule_errors(spec: CronJobSpec, *, zone_allowed: bool) -> Errors:
    path, schedule = SPEC.child("schedule"), spec.schedule
    if not schedule:
        return [fields.required(path)]
    errors: Errors = []
    try:
        cron.parse(schedule)
    except cron.ScheduleError as error:
        errors.append(fields.invalid(path, schedule, str(error)))
    if "TZ" not in schedule:
        return errors
    if not zone_allowed:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(fields.invalid(path, schedule, text))
    elif spec.time_zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.append(fields.invalid(path, schedule, text))
    return errors


def _zone_errors(path: Path, name: str) -> Errors:
    if not name:
        return [fields.invalid(path, name, "timeZone must be nil or non-empty string")]
    errors: Errors = []
    if name.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(fields.invalid(path, name, text))
    if name == "Local":  # Go's name for the local time zone
        return errors
    try:
        cron.time_zone(name)
    except cron.ScheduleError as error:
        errors.append(fields.invalid(path, name, str(error)))
    return errors
