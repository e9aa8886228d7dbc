"""Admission of ImageListPullJobs: defaults and validation. Upstream: ``pkg/webhook/imagelistpulljob``."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_kruise.imagelistpull.list_rules import problem_of
from podling_kruise.imagelistpull.types import ImageListPullJob
from podling_kruise.imagepull.job_rules import filled_template
from podling_kruise.names import GROUP


class ImageListPullAdmission(Plugin):
    name = "ImageListPullJob"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (GROUP, "imagelistpulljobs")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        job = typed(obj, ImageListPullJob)
        made = codec.to_plain(structs.replace(job, spec=filled_template(job.spec)))
        return structs.replace(obj, content={**obj.content, "spec": made.get("spec", {})})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Raise 400 for a wrong object."""
        problem = problem_of(typed(request.object, ImageListPullJob).spec)
        if problem:
            raise errors.bad_request(problem)
