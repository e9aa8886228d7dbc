"""ImageListPullJobs as structs. Upstream: ``apis/apps/v1beta1/imagelistpulljob_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.broadcastjob.types import JobCondition
from podling_kruise.imagelistpull.definition import definition
from podling_kruise.imagepull.types import ImagePullJobTemplate


class ImageListPullJobSpec(
    ImagePullJobTemplate, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    images: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    """Always written: the field is required."""


class FailedImageStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An ImagePullJob with failed nodes; ``name`` is that of the image."""

    image_pull_job: str = ""
    name: str = ""
    message: str = ""


class ImageListPullJobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The fields with a factory are always written."""

    start_time: datetime | None = None
    completion_time: datetime | None = None
    desired: int = msgspec.field(default_factory=int)
    active: int = msgspec.field(default_factory=int)
    completed: int = msgspec.field(default_factory=int)
    succeeded: int = msgspec.field(default_factory=int)
    failed_image_statuses: tuple[FailedImageStatus, ...] = ()

    @property
    def conditions(self) -> tuple[JobCondition, ...]:
        """The condition that a job of another kind would have at its end, for schedules."""
        if self.completion_time is None:
            return ()
        counts = f"{self.succeeded} of {self.desired} images are on all nodes"
        kind = "Complete" if self.succeeded == self.desired else "Failed"
        return (JobCondition(type=kind, status="True", reason=kind, message=counts),)


class ImageListPullJob(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: ImageListPullJobSpec = msgspec.field(default_factory=lambda: ImageListPullJobSpec())
    status: ImageListPullJobStatus = msgspec.field(default_factory=lambda: ImageListPullJobStatus())
