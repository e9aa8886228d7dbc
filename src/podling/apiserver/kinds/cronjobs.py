"""CronJobs. Upstream: ``pkg/apis/batch``, ``pkg/registry/batch/cronjob``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.batch_v1 import CronJob
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.base import Context, KindRules
from podling.apiserver.kinds.cells import (
    AGE,
    NAME,
    NONE,
    POD_TEMPLATE_COLUMNS,
    UNSET,
    age,
    age_since,
    or_none,
    selector_text,
    template_cells,
)
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.cron_schedules import schedule_problem, time_zone_problem
from podling.apiserver.kinds.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.job_validation import validate_job_spec
from podling.apiserver.kinds.pod_defaults import default_pod_template
from podling.apiserver.kinds.pod_warnings import spec_warnings
from podling.apiserver.kinds.workloads import SPEC
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.tables import Column

CONCURRENCY_POLICIES = ("Allow", "Forbid", "Replace")
MAX_NAME = 52
"""So that the controller can append eleven characters for each Job's name."""

JOB_TEMPLATE = SPEC.child("jobTemplate")


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
        errors: Errors = []
        if len(obj.metadata.name or "") > MAX_NAME:
            text = f"must be no more than {MAX_NAME} characters"
            errors.append(fields.invalid(Path("metadata.name"), obj.metadata.name, text))
        return errors + self._spec_errors(obj)

    def validate_update(self, new: CronJob, old: CronJob, context: Context) -> Errors:
        return [] if context.subresource == "status" else self._spec_errors(new)

    def _spec_errors(self, obj: CronJob) -> Errors:
        spec = obj.spec
        errors = _schedule_errors(spec.schedule)
        if spec.time_zone is not None:
            problem = time_zone_problem(spec.time_zone)
            errors += [fields.invalid(SPEC.child("timeZone"), spec.time_zone, problem)] if problem else []
        errors += checks.non_negative(SPEC.child("startingDeadlineSeconds"), spec.starting_deadline_seconds)
        where = SPEC.child("concurrencyPolicy")
        errors += checks.required_one_of(where, spec.concurrency_policy, CONCURRENCY_POLICIES)
        for name, limit in (
            ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
            ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
        ):
            errors += checks.non_negative(SPEC.child(name), limit)
        if spec.job_template.spec.manual_selector:
            where = JOB_TEMPLATE.child("spec", "manualSelector")
            errors.append(fields.not_supported(where, True, ("nil", "false")))
        return errors + validate_job_spec(JOB_TEMPLATE.child("spec"), spec.job_template.spec)

    def warnings(self, obj: CronJob, old: CronJob | None, context: Context) -> list[str]:
        template = obj.spec.job_template.spec.template
        if old is not None and old.spec.job_template.spec.template == template:
            return []
        path = JOB_TEMPLATE.child("spec", "template")
        return spec_warnings(path, template.spec, template.metadata)

    def row(self, obj: CronJob, now: datetime) -> Sequence[Any]:
        last, suspend = obj.status.last_schedule_time, obj.spec.suspend
        job = obj.spec.job_template.spec
        return (
            obj.metadata.name,
            obj.spec.schedule,
            or_none(obj.spec.time_zone),
            UNSET if suspend is None else str(suspend),
            len(obj.status.active),
            NONE if last is None else age_since(last, now),
            age(obj, now),
            *template_cells(job.template.spec),
            selector_text(job.selector),
        )


def _schedule_errors(schedule: str) -> Errors:
    path = SPEC.child("schedule")
    if not schedule:
        return [fields.required(path)]
    if "TZ=" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [fields.invalid(path, schedule, text)]
    problem = schedule_problem(schedule)
    return [fields.invalid(path, schedule, problem)] if problem else []
