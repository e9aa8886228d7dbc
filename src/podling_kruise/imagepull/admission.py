"""Admission of ImagePullJobs and NodeImages. Upstream: the packages of these names in ``pkg/webhook``."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.client.typed_kinds import typed
from podling.clock import seconds_precision
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_kruise.imagepull import job_rules, node_rules
from podling_kruise.imagepull.job_rules import TIMEOUT_SECONDS, TRIES
from podling_kruise.imagepull.types import ImagePullJob, NodeImage, PullPolicy, TagSpec
from podling_kruise.names import GROUP


class ImagePullAdmission(Plugin):
    name = "ImagePullJob"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = resource.group == GROUP and resource.plural in ("imagepulljobs", "nodeimages")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        if request.resource.plural == "imagepulljobs":
            job = typed(obj, ImagePullJob)
            made: Any = structs.replace(job, spec=job_rules.filled(job.spec))
        else:
            made = _with_defaults(typed(obj, NodeImage), request)
        spec = codec.to_plain(made).get("spec", {})
        return structs.replace(obj, content={**obj.content, "spec": spec})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Raise 400 for a wrong object, 403 for a change of what is immutable."""
        if request.resource.plural == "imagepulljobs":
            job = typed(request.object, ImagePullJob)
            old = typed(request.old, ImagePullJob) if request.old is not None else job
            if job.spec.pull_secrets != old.spec.pull_secrets:
                raise request.forbidden("spec.pullSecrets is immutable")
            problem = job_rules.problem_of(job.spec)
        else:
            problem = node_rules.problem_of(typed(request.object, NodeImage))
        if problem:
            raise errors.bad_request(problem)


def _with_defaults(image: NodeImage, request: AdmissionRequest) -> NodeImage:
    images = {
        name: structs.replace(
            spec,
            tags=tuple(sorted((_filled(each, request) for each in spec.tags), key=lambda each: each.tag)),
        )
        for name, spec in image.spec.images.items()
    }
    return structs.replace(image, spec=structs.replace(image.spec, images=images))


def _filled(tag: TagSpec, request: AdmissionRequest) -> TagSpec:
    policy = tag.pull_policy or PullPolicy()
    timeout, tries = policy.timeout_seconds, policy.backoff_limit
    made = structs.replace(
        policy,
        timeout_seconds=TIMEOUT_SECONDS if timeout is None else timeout,
        backoff_limit=TRIES if tries is None else tries,
    )
    return structs.replace(tag, pull_policy=made, created_at=tag.created_at or seconds_precision(request.now))
