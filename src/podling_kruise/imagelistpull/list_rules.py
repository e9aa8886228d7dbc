"""Decisions about ImageListPullJobs: validation, their ImagePullJobs, and their status. Pure.

Upstream: ``pkg/controller/imagelistpulljob``, ``pkg/webhook/imagelistpulljob``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, json, structs

from podling.api.meta_v1 import ObjectMeta
from podling.clock import seconds_precision
from podling.controllers.owner_references import controller_reference
from podling.controllers.template_hash import safe_hash
from podling_kruise.imagelistpull.types import (
    FailedImageStatus,
    ImageListPullJob,
    ImageListPullJobSpec,
    ImageListPullJobStatus,
)
from podling_kruise.imagepull.job_rules import (
    completion_problem,
    name_problem,
    parallelism_problem,
    selector_problem,
)
from podling_kruise.imagepull.types import NEVER, ImagePullJob, ImagePullJobSpec, ImagePullJobTemplate
from podling_kruise.names import REVISION_HASH

IMAGES_MAX = 255


def problem_of(spec: ImageListPullJobSpec) -> str:
    """Return what is wrong with a spec; empty if nothing is."""
    checks = (selector_problem, images_problem, parallelism_problem, completion_problem)
    return next((found for check in checks if (found := check(spec))), "")


def images_problem(spec: ImageListPullJobSpec) -> str:
    """Return what is wrong with the list of images; empty if nothing is."""
    if not spec.images:
        return "image can not be empty"
    if len(set(spec.images)) != len(spec.images):
        return "images cannot have duplicate values"
    if len(spec.images) > IMAGES_MAX:
        return f"the maximum number of images cannot > {IMAGES_MAX}"
    return next((found for image in spec.images if (found := name_problem(image))), "")


def template_of(spec: ImageListPullJobSpec) -> ImagePullJobTemplate:
    """Return the part of a spec that all of its ImagePullJobs have."""
    names = ImagePullJobTemplate.__struct_fields__
    return ImagePullJobTemplate(**{name: getattr(spec, name) for name in names})


def hash_of(spec: ImageListPullJobSpec) -> str:
    """Return a short safe name for the template, by which ImagePullJobs of an older one are found."""
    return safe_hash(json.encode(template_of(spec)))


def by_image(jobs: Iterable[ImagePullJob]) -> dict[str, ImagePullJob]:
    """Return the ImagePullJobs that are not being deleted, by their images."""
    return {each.spec.image: each for each in jobs if each.metadata.deletion_timestamp is None}


class Actions(Struct, frozen=True):
    """The images that need an ImagePullJob, and the ImagePullJobs that have to go."""

    create: Sequence[str]
    delete: Sequence[ImagePullJob]


def actions_of(owner: ImageListPullJob, jobs: Mapping[str, ImagePullJob], digest: str) -> Actions:
    """Return the next actions. ``jobs``: those of the owner, by image; ``digest``: that of its template."""
    create, delete = [], []
    for image in owner.spec.images:
        held = jobs.get(image)
        if held is None:
            create.append(image)
        elif not _is_of_template(held, owner, digest):
            create.append(image)
            delete.append(held)
    unwanted = [held for image, held in jobs.items() if image not in owner.spec.images]
    return Actions(create, [*delete, *unwanted])


def _is_of_template(job: ImagePullJob, owner: ImageListPullJob, digest: str) -> bool:
    own = job.metadata.labels.get(REVISION_HASH)
    return own == digest or (own is None and job.spec == job_spec(owner, job.spec.image))


def job_spec(owner: ImageListPullJob, image: str) -> ImagePullJobSpec:
    """Return the spec for one image.

    It has no time to live: the ImagePullJob goes with its owner. One that went before the other images are
    pulled would be created again.
    """
    fields = structs.asdict(template_of(owner.spec))
    completion = structs.replace(owner.spec.completion_policy, ttl_seconds_after_finished=None)
    return ImagePullJobSpec(**{**fields, "image": image, "completion_policy": completion})


def new_job(owner: ImageListPullJob, image: str, digest: str) -> ImagePullJob:
    """Return the ImagePullJob for one image."""
    metadata = ObjectMeta(
        generate_name=f"{owner.metadata.name}-",
        namespace=owner.metadata.namespace,
        labels={REVISION_HASH: digest},
        owner_references=(controller_reference(owner),),
    )
    return ImagePullJob(metadata=metadata, spec=job_spec(owner, image))


def status_of(
    owner: ImageListPullJob, jobs: Mapping[str, ImagePullJob], now: datetime
) -> ImageListPullJobStatus:
    """Return the status that follows from the ImagePullJobs of the owner, by image."""
    begun = [each for each in jobs.values() if each.status.start_time is not None]
    failed = sorted((each for each in begun if each.status.failed), key=lambda each: each.spec.image)
    done = [each for each in begun if each.status.desired == each.status.failed + each.status.succeeded]
    status = ImageListPullJobStatus(
        start_time=owner.status.start_time or seconds_precision(now),
        desired=len(owner.spec.images),
        active=sum(each.status.active > 0 for each in begun),
        completed=len(done),
        succeeded=sum(each.status.desired == each.status.succeeded for each in begun),
        failed_image_statuses=tuple(_failure(each) for each in failed),
    )
    if owner.spec.completion_policy.type != NEVER and status.desired == status.completed:
        return structs.replace(status, completion_time=seconds_precision(now))
    return status


def _failure(job: ImagePullJob) -> FailedImageStatus:
    name = job.metadata.name or ""
    text = f"Please check for details which nodes failed by 'kubectl get ImagePullJob {name}'."
    return FailedImageStatus(image_pull_job=name, name=job.spec.image, message=text)


def seconds_to_deletion(owner: ImageListPullJob, now: datetime) -> float | None:
    """Return the time until an ended job is deleted; None if it stays."""
    seconds, end = owner.spec.completion_policy.ttl_seconds_after_finished, owner.status.completion_time
    if seconds is None or end is None:
        return None
    return (end + timedelta(seconds=seconds) - now) / timedelta(seconds=1)
