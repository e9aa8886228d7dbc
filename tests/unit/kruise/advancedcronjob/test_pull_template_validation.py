"""Validation and defaults of the ImageListPullJobs of AdvancedCronJobs, through the API server.

Cases of upstream's ``advancedcronjob_create_update_handler_test.go``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling_kruise.advancedcronjob.types import AdvancedCronJob
from podling_kruise.advancedcronjob.validation import FIXED
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.cron_jobs import JOB, cron_job, pulls
from tests.support.sidecar_sets import create


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "pulls at the same time": (
        {"template": pulls(), "concurrencyPolicy": "Allow"},
        "concurrencyPolicy should be Replace or Forbid, but current value is: Allow",
    ),
    "pulls without images": (
        {"template": pulls(images=[])},
        "spec.template.imageListPullJobTemplate.spec.images: Invalid value: []: image can not be empty",
    ),
    "pulls of one image twice": (
        {"template": pulls(images=["web:1", "web:1"])},
        "images cannot have duplicate values",
    ),
    "names and labels of nodes": (
        {"template": pulls(selector={"names": ["a"], "matchLabels": {"b": "c"}})},
        "can not set both names and labelSelector in this spec.selector",
    ),
    "nodes and pods": (
        {"template": pulls(selector={"names": ["a"]}, podSelector={"matchLabels": {"b": "c"}})},
        "can not set both selector and podSelector",
    ),
    "pulls without an end": (
        {"template": pulls(completionPolicy={"type": "Never"})},
        'completionPolicy.type: Invalid value: "Never": completionPolicy should be Always',
    ),
    "time to live of pulls": (
        {"template": pulls(completionPolicy={"type": "Always", "ttlSecondsAfterFinished": 1})},
        "ttlSecondsAfterFinished is not supported in advancedCronJob",
    ),
    "deadline of pulls beyond a day": (
        {"template": pulls(completionPolicy={"type": "Always", "activeDeadlineSeconds": 86401})},
        "activeDeadlineSeconds must be less than 86400, current value is: 86401",
    ),
    "deadline of pulls before one try": (
        {"template": pulls(completionPolicy={"activeDeadlineSeconds": 10})},
        "completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(600)",
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
async def test_invalid_pulls_are_refused(kruise: Kruise, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=re.escape(message)) as refused:
        await create(kruise, cron_job(**spec))
    assert refused.value.code == 422


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_pulls_replace_each_other_by_default(kruise: Kruise, version: str) -> None:
    assert await create(kruise, cron_job(version, template=pulls())) == []
    spec = (await kruise.client.get(AdvancedCronJob, "nightly", "default")).spec
    template = spec.template.image_list_pull_job_template
    assert template is not None
    made = template.spec
    assert (spec.concurrency_policy, made.completion_policy.type) == ("Replace", "Always")
    assert (made.pull_policy.timeout_seconds, made.image_pull_policy) == (600, "IfNotPresent")


async def test_images_to_pull_can_be_changed(kruise: Kruise) -> None:
    await create(kruise, cron_job(template=pulls()))
    patch = {"spec": {"template": pulls(images=["web:2"])}}
    written = await kruise.client.patch(AdvancedCronJob, "nightly", patch, "default")
    assert written.spec.template.image_list_pull_job_template is not None
    assert written.spec.template.image_list_pull_job_template.spec.images == ("web:2",)
    with pytest.raises(ApiError, match=re.escape(f"spec: Forbidden: {FIXED}")):
        other = {"spec": {"template": {**JOB, "imageListPullJobTemplate": None}}}
        await kruise.client.patch(AdvancedCronJob, "nightly", other, "default")
