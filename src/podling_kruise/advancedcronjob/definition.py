"""The CustomResourceDefinition of AdvancedCronJobs; its versions are equal. Pure.

Upstream: ``apis/apps/v1beta1/advancedcronjob_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.broadcastjob.definition import SPEC as BROADCAST_JOB
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.imagelistpull.definition import SPEC as IMAGE_LIST_PULL_JOB
from podling_kruise.names import GROUP
from podling_kruise.schemas import (
    FLAG,
    OPEN,
    TEXT,
    TIME,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"advancedcronjobs.{GROUP}"

_COLUMNS = [
    column("Schedule", ".spec.schedule", "The schedule of advanced cron job.", kind="string"),
    column("Type", ".status.type", "Type of cron job.", kind="string"),
    column(
        "LastScheduleTime",
        ".status.lastScheduleTime",
        "The last time at which job was scheduled.",
        kind="date",
    ),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
]
_POLICY = {"type": "string", "enum": ["Allow", "Forbid", "Replace"]}
_TEMPLATE = record(
    jobTemplate=described(OPEN, "The Jobs: metadata, and the spec of a Job."),
    broadcastJobTemplate=described(
        record(metadata=OPEN, spec=BROADCAST_JOB), "The BroadcastJobs: metadata and spec."
    ),
    imageListPullJobTemplate=described(
        record(metadata=OPEN, spec=IMAGE_LIST_PULL_JOB), "The ImageListPullJobs: metadata and spec."
    ),
)
_SPEC = record(
    ("schedule", "template"),
    schedule=described({**TEXT, "minLength": 0}, "The schedule in cron format."),
    timeZone=described(TEXT, "The time zone of the schedule; that of the controller without one."),
    startingDeadlineSeconds=described(number(64), "Time after which a missed run is not started any more."),
    concurrencyPolicy=described(_POLICY, "What becomes of a run that is due while another is active."),
    paused=described(FLAG, "Start no runs."),
    successfulJobsHistoryLimit=described(number(), "Successful finished jobs to keep."),
    failedJobsHistoryLimit=described(number(), "Failed finished jobs to keep."),
    template=described(_TEMPLATE, "The job of a run: one of the templates."),
)
_REFERENCE = record(
    apiVersion=TEXT,
    fieldPath=TEXT,
    kind=TEXT,
    name=TEXT,
    namespace=TEXT,
    resourceVersion=TEXT,
    uid=TEXT,
)
_STATUS = record(
    type=described(TEXT, "The kind of the jobs."),
    active=described(items(_REFERENCE), "The jobs that run now."),
    lastScheduleTime=described(TIME, "The time of the last run that was started."),
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    text = "Jobs, BroadcastJobs or ImageListPullJobs by a schedule."
    older = version_of("v1alpha1", text, _SPEC, _STATUS, _COLUMNS, storage=False)
    newer = version_of("v1beta1", text, _SPEC, _STATUS, _COLUMNS, storage=True)
    return definition_of("AdvancedCronJob", (older, newer), short_names=["acj"])
