"""Admission of ImageListPullJobs. Cases of ``imagelistpulljob_create_update_handler_test.go``."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling_kruise.imagelistpull.types import ImageListPullJob
from tests.support.clone_sets import kruise_api
from tests.support.image_list_pull_jobs import list_job, list_of
from tests.support.sidecar_sets import create

NEVER = {"type": "Never"}


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_job_gets_its_defaults(version: str) -> None:
    plain = {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "ImageListPullJob",
        "metadata": {"name": "pulls", "namespace": "default"},
        "spec": {"images": ["web:1"]},
    }
    async with kruise_api() as kruise:
        assert await create(kruise, plain) == []
        spec = (await list_of(kruise)).spec
    assert (spec.images, spec.completion_policy.type) == (("web:1",), "Always")
    assert (spec.pull_policy.timeout_seconds, spec.pull_policy.backoff_limit) == (600, 3)


@pytest.mark.parametrize("parallelism", [2, 0, "50", "0", None])
async def test_parallelism_is_a_number(parallelism: Any) -> None:
    given = {} if parallelism is None else {"parallelism": parallelism}
    async with kruise_api() as kruise:
        assert (await kruise.client.create(list_job(**given))).spec.parallelism == parallelism


@pytest.mark.parametrize(
    ("images", "spec", "message"),
    [
        (["web:1", "web:1"], {}, "images cannot have duplicate values"),
        ([f"web:{number}" for number in range(256)], {}, "the maximum number of images cannot > 255"),
        (["web:1", "Web"], {}, "invalid image Web: invalid reference format: repository name (Web) must be"),
        (
            ["web:1"],
            {"selector": {"names": ["a"], "matchLabels": {"b": "c"}}},
            "can not set both names and labelSelector in this spec.selector",
        ),
        (["web:1"], {"selector": {"names": ["a", "a"]}}, "duplicated name in selector names"),
        (
            ["web:1"],
            {"selector": {"names": ["a"]}, "podSelector": {}},
            "can not set both selector and podSelector",
        ),
        (["web:1"], {"parallelism": -1}, "parallelism must be non-negative"),
        (["web:1"], {"parallelism": "-1"}, "parallelism must be non-negative"),
        (["web:1"], {"parallelism": "50%"}, "parallelism does not support percentage value"),
        (["web:1"], {"parallelism": "abc"}, "parallelism must be a valid integer"),
        (
            ["web:1"],
            {"completionPolicy": {**NEVER, "ttlSecondsAfterFinished": 1}},
            "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always",
        ),
        (["web:1"], {"completionPolicy": {"type": "Once"}}, "unknown type of completionPolicy: Once"),
    ],
)
async def test_wrong_job_is_refused(images: list[str], spec: dict[str, Any], message: str) -> None:
    async with kruise_api() as kruise:
        with pytest.raises(ApiError) as refused:
            await kruise.client.create(list_job(*images, **spec))
    assert refused.value.code == 400
    assert str(refused.value).startswith(message)


async def test_job_without_images_is_refused() -> None:
    async with kruise_api() as kruise:
        await kruise.client.create(list_job())
        with pytest.raises(ApiError, match="image can not be empty") as refused:
            await kruise.client.patch(ImageListPullJob, "pulls", {"spec": {"images": []}}, "default")
    assert refused.value.code == 400
