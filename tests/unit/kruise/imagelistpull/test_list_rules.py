"""Decisions about ImageListPullJobs. Cases of upstream's ``imagelistpulljob_controller_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from podling.api.meta_v1 import ObjectMeta
from podling_kruise.imagelistpull.list_rules import (
    actions_of,
    by_image,
    hash_of,
    new_job,
    seconds_to_deletion,
    status_of,
)
from podling_kruise.imagelistpull.types import ImageListPullJob, ImageListPullJobStatus
from podling_kruise.imagepull.types import ImagePullJob, ImagePullJobStatus
from podling_kruise.names import REVISION_HASH
from tests.support.image_list_pull_jobs import list_job

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IMAGES = ("nginx:1.9.1", "busybox:1.35", "httpd:2.4.38")


def owner_of(*images: str, **spec: Any) -> ImageListPullJob:
    job = list_job(*images, **spec)
    return structs.replace(job, metadata=structs.replace(job.metadata, uid="123"))


def held(owner: ImageListPullJob, *images: str, digest: str = "v1") -> dict[str, ImagePullJob]:
    """Return the ImagePullJobs that an owner has made, named by their images."""
    made = [new_job(owner, image, digest) for image in images]
    return by_image(structs.replace(each, metadata=_named(each)) for each in made)


def _named(job: ImagePullJob) -> ObjectMeta:
    return structs.replace(job.metadata, name=job.spec.image.partition(":")[0])


def with_status(job: ImagePullJob, **status: Any) -> ImagePullJob:
    return structs.replace(job, status=ImagePullJobStatus(start_time=NOW, desired=1, **status))


@pytest.mark.parametrize(
    ("wanted", "present", "digest", "create", "delete"),
    [
        (IMAGES, IMAGES[:2], "v1", [IMAGES[2]], []),
        (IMAGES[:1], IMAGES[:2], "v1", [], [IMAGES[1]]),
        (IMAGES[:2], IMAGES[:2], "v2", list(IMAGES[:2]), list(IMAGES[:2])),
        (IMAGES, IMAGES, "v1", [], []),
    ],
    ids=["added image", "removed image", "changed template", "nothing"],
)
def test_jobs_are_created_and_deleted(
    wanted: tuple[str, ...], present: tuple[str, ...], digest: str, create: list[str], delete: list[str]
) -> None:
    owner = owner_of(*wanted)
    found = actions_of(owner, held(owner, *present), digest)
    assert (found.create, [each.spec.image for each in found.delete]) == (create, delete)


def test_job_without_hash_is_kept_if_its_spec_is_the_same() -> None:
    owner = owner_of(*IMAGES)
    jobs = {
        image: structs.replace(each, metadata=structs.replace(each.metadata, labels={}))
        for image, each in held(owner, *IMAGES).items()
    }
    assert actions_of(owner, jobs, "v2").create == []
    changed = owner_of(*IMAGES, parallelism=7)
    assert actions_of(changed, jobs, "v2").create == list(IMAGES)


def test_job_has_the_template_and_its_owner_but_no_time_to_live() -> None:
    completion = {"type": "Always", "activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 60}
    owner = owner_of(*IMAGES, parallelism=5, pullSecrets=["login"], completionPolicy=completion)
    job = new_job(owner, IMAGES[0], "v1")
    assert (job.metadata.generate_name, job.metadata.labels) == ("pulls-", {REVISION_HASH: "v1"})
    (reference,) = job.metadata.owner_references
    assert (reference.uid, reference.controller) == ("123", True)
    assert (job.spec.image, job.spec.parallelism, job.spec.pull_secrets) == (IMAGES[0], 5, ("login",))
    assert job.spec.completion_policy.active_deadline_seconds == 900
    assert job.spec.completion_policy.ttl_seconds_after_finished is None


def test_hash_follows_the_template_and_not_the_images() -> None:
    assert hash_of(owner_of(*IMAGES).spec) == hash_of(owner_of(IMAGES[0]).spec)
    assert hash_of(owner_of(*IMAGES).spec) != hash_of(owner_of(*IMAGES, parallelism=2).spec)


def test_status_counts_the_jobs_by_their_ends() -> None:
    owner = owner_of(*IMAGES, completionPolicy={"type": "Always"})
    jobs = held(owner, *IMAGES)
    jobs[IMAGES[0]] = with_status(jobs[IMAGES[0]], succeeded=1)
    jobs[IMAGES[1]] = with_status(jobs[IMAGES[1]], active=1)
    jobs[IMAGES[2]] = with_status(jobs[IMAGES[2]], failed=1)
    status = status_of(owner, jobs, NOW)
    assert (status.desired, status.active, status.succeeded, status.completed) == (3, 1, 1, 2)
    (failed,) = status.failed_image_statuses
    assert (failed.image_pull_job, failed.name) == ("httpd", IMAGES[2])
    assert (
        failed.message == "Please check for details which nodes failed by 'kubectl get ImagePullJob httpd'."
    )
    assert status.completion_time is None
    assert status.conditions == ()


@pytest.mark.parametrize(
    ("policy", "failed", "condition"),
    [("Always", 0, "Complete"), ("Always", 1, "Failed"), ("Never", 0, None)],
)
def test_job_ends_with_its_last_image(policy: str, failed: int, condition: str | None) -> None:
    owner = owner_of("nginx:1.9.1", completionPolicy={"type": policy})
    jobs = held(owner, "nginx:1.9.1")
    jobs["nginx:1.9.1"] = with_status(jobs["nginx:1.9.1"], succeeded=1 - failed, failed=failed)
    status = status_of(owner, jobs, NOW)
    assert [each.type for each in status.conditions] == ([condition] if condition else [])
    assert (status.completion_time is not None) is (condition is not None)


def test_job_that_has_not_begun_is_not_counted() -> None:
    owner = owner_of("nginx:1.9.1")
    assert status_of(owner, held(owner, "nginx:1.9.1"), NOW).completed == 0


@pytest.mark.parametrize(("ttl", "left"), [(60, 60.0), (None, None)])
def test_ended_job_is_deleted_after_its_time(ttl: int | None, left: float | None) -> None:
    completion = {"type": "Always"} | ({} if ttl is None else {"ttlSecondsAfterFinished": ttl})
    owner = structs.replace(
        owner_of(completionPolicy=completion), status=ImageListPullJobStatus(completion_time=NOW)
    )
    assert seconds_to_deletion(owner, NOW) == left
