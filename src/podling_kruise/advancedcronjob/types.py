"""AdvancedCronJobs as structs. Upstream: ``apis/apps/v1beta1/advancedcronjob_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.batch_v1 import JobTemplateSpec
from podling.api.core_v1 import ObjectReference
from podling.api.meta_v1 import ObjectMeta
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.advancedcronjob.definition import definition
from podling_kruise.broadcastjob.types import BroadcastJobSpec
from podling_kruise.imagelistpull.types import ImageListPullJobSpec

JOB, BROADCAST_JOB, IMAGE_LIST_PULL_JOB = "Job", "BroadcastJob", "ImageListPullJob"
ALLOW, FORBID, REPLACE = "Allow", "Forbid", "Replace"


class BroadcastJobTemplateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())
    spec: BroadcastJobSpec = msgspec.field(default_factory=lambda: BroadcastJobSpec())


class ImageListPullJobTemplateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    metadata: ObjectMeta = msgspec.field(default_factory=lambda: ObjectMeta())
    spec: ImageListPullJobSpec = msgspec.field(default_factory=lambda: ImageListPullJobSpec())


class CronJobTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One of the templates."""

    job_template: JobTemplateSpec | None = None
    broadcast_job_template: BroadcastJobTemplateSpec | None = None
    image_list_pull_job_template: ImageListPullJobTemplateSpec | None = None

    @property
    def kind(self) -> str:
        """The kind of the jobs."""
        if self.job_template is not None:
            return JOB
        return BROADCAST_JOB if self.broadcast_job_template is not None else IMAGE_LIST_PULL_JOB


class AdvancedCronJobSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    schedule: str = msgspec.field(default_factory=str)
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = ""
    paused: bool | None = None
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None
    template: CronJobTemplate = msgspec.field(default_factory=lambda: CronJobTemplate())


class AdvancedCronJobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: datetime | None = None


class AdvancedCronJob(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: AdvancedCronJobSpec = msgspec.field(default_factory=lambda: AdvancedCronJobSpec())
    status: AdvancedCronJobStatus = msgspec.field(default_factory=lambda: AdvancedCronJobStatus())
