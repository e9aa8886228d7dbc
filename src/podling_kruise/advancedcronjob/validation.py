"""Validation of AdvancedCronJobs, but for the pod templates, which the server knows. Pure.

Upstream: ``pkg/webhook/advancedcronjob/validating``.
"""

from __future__ import annotations

from msgspec import structs

from podling.api.core_v1 import PodTemplateSpec
from podling.machinery import cron, fields
from podling.machinery.cron import ScheduleError
from podling.machinery.fields import FieldError
from podling_kruise.advancedcronjob.pull_template_validation import pull_template_errors
from podling_kruise.advancedcronjob.types import (
    AdvancedCronJob,
    AdvancedCronJobSpec,
    CronJobTemplate,
    ImageListPullJobTemplateSpec,
)
from podling_kruise.field_checks import non_negative
from podling_kruise.object_names import name_errors
from podling_kruise.template_validation import SPEC

Errors = list[FieldError]

EITHER = "either JobTemplate or BroadcastJobTemplate or ImageListPullJobTemplate should be provided"
FIXED = (
    "updates to advancedcronjob spec for fields other than 'imageListPullJobTemplate', 'schedule', "
    "'concurrencyPolicy', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit', 'startingDeadlineSeconds', "
    "'timeZone' and 'paused' are forbidden"
)


def object_errors(new: AdvancedCronJob, old: AdvancedCronJob | None) -> Errors:
    """Return what is wrong with an object by itself, and with its change."""
    found = name_errors(new.metadata.name or new.metadata.generate_name or "", "AdvancedCronJob")
    found += spec_errors(new.spec)
    if old is not None and _fixed_part(new.spec.template) != _fixed_part(old.spec.template):
        found.append(fields.forbidden(SPEC, FIXED))
    return found


def _fixed_part(template: CronJobTemplate) -> CronJobTemplate:
    """Return what must not change: the images to pull may."""
    held = template.image_list_pull_job_template
    kept = ImageListPullJobTemplateSpec() if held is not None else None
    return structs.replace(template, image_list_pull_job_template=kept)


def pod_templates(template: CronJobTemplate) -> list[PodTemplateSpec]:
    """Return the pod templates of the jobs."""
    found = (template.job_template, template.broadcast_job_template)
    return [each.spec.template for each in found if each is not None]


def spec_errors(spec: AdvancedCronJobSpec) -> Errors:
    return [
        *_schedule_errors(spec),
        *pull_template_errors(spec),
        *_template_errors(spec.template),
        *non_negative(SPEC.child("startingDeadlineSeconds"), spec.starting_deadline_seconds),
        *non_negative(SPEC.child("successfulJobsHistoryLimit"), spec.successful_jobs_history_limit),
        *non_negative(SPEC.child("failedJobsHistoryLimit"), spec.failed_jobs_history_limit),
        *_zone_errors(spec.time_zone),
    ]


def _schedule_errors(spec: AdvancedCronJobSpec) -> Errors:
    where, found = SPEC.child("schedule"), []
    if not spec.schedule:
        text = "schedule cannot be empty, please provide valid cron schedule."
        found.append(fields.invalid(where, spec.schedule, text))
    try:
        cron.parse(spec.schedule)
    except ScheduleError as error:
        found.append(fields.invalid(where, spec.schedule, str(error)))
    if "TZ" in spec.schedule and spec.time_zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        found.append(fields.invalid(where, spec.schedule, text))
    return found


def _template_errors(template: CronJobTemplate) -> Errors:
    count = sum(getattr(template, name) is not None for name in structs.asdict(template))
    if count == 1:
        return []
    head = "spec must have one template" if not count else "spec can have only one template"
    return [fields.forbidden(SPEC.child("template"), f"{head}, {EITHER}")]


def _zone_errors(zone: str | None) -> Errors:
    where, found = SPEC.child("timeZone"), []
    if zone is None:
        return []
    if not zone:
        return [fields.invalid(where, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.append(fields.invalid(where, zone, text))
    try:
        cron.time_zone(zone)
    except ScheduleError as error:
        found.append(fields.invalid(where, zone, str(error)))
    return found
