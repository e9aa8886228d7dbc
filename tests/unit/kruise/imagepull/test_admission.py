"""Admission of ImagePullJobs and NodeImages: defaults, and OpenKruise's refusals."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling_kruise.imagepull.types import ImagePullJob, NodeImage
from tests.support.clone_sets import kruise_api

NEVER = {"type": "Never"}
KEPT = {"pullPolicy": {"ttlSecondsAfterFinished": 1}}


def job(**spec: Any) -> ImagePullJob:
    metadata = {"name": "pull", "namespace": "default"}
    return codec.from_plain({"metadata": metadata, "spec": {"image": "web:1", **spec}}, ImagePullJob)


async def test_job_gets_its_defaults() -> None:
    async with kruise_api() as kruise:
        spec = (await kruise.client.create(job())).spec
    assert (spec.completion_policy.type, spec.image_pull_policy) == ("Always", "IfNotPresent")
    assert (spec.pull_policy.timeout_seconds, spec.pull_policy.backoff_limit) == (600, 3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"image": "Web"}, "invalid image Web: invalid reference format: repository name (Web) must be"),
        (
            {"selector": {"names": ["a"], "matchLabels": {"b": "c"}}},
            "can not set both names and labelSelector in this spec.selector",
        ),
        ({"selector": {"names": ["a", "a"]}}, "duplicated name in selector names"),
        ({"selector": {"names": ["a"]}, "podSelector": {}}, "can not set both selector and podSelector"),
        ({"parallelism": "10%"}, "parallelism does not support percentage value"),
        ({"parallelism": "many"}, "parallelism must be a valid integer"),
        ({"parallelism": -1}, "parallelism must be non-negative"),
        (
            {"completionPolicy": {"activeDeadlineSeconds": 10}},
            "completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds",
        ),
        (
            {"completionPolicy": {**NEVER, "ttlSecondsAfterFinished": 1}},
            "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always",
        ),
        ({"completionPolicy": {"type": "Once"}}, "unknown type of completionPolicy: Once"),
    ],
)
async def test_wrong_job_is_refused(spec: dict[str, Any], message: str) -> None:
    async with kruise_api() as kruise:
        with pytest.raises(ApiError) as refused:
            await kruise.client.create(job(**spec))
    assert refused.value.code == 400
    assert str(refused.value).startswith(message)


async def test_pull_secrets_are_immutable() -> None:
    async with kruise_api() as kruise:
        await kruise.client.create(job())
        with pytest.raises(ApiError, match="pullSecrets is immutable") as refused:
            await kruise.client.patch(ImagePullJob, "pull", {"spec": {"pullSecrets": ["a"]}}, "default")
    assert refused.value.code == 403


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([{"tag": "1", **KEPT}, {"tag": "1", **KEPT}], "duplicated tag 1 for image web"),
        ([{"tag": "1"}], "pullPolicy.ttlSecondsAfterFinished for web/1 must set"),
        ([{"tag": "1", "version": -1}], "version for web/1 can not be less than 0"),
    ],
)
async def test_wrong_node_image_is_refused(tags: list[dict[str, Any]], message: str) -> None:
    plain = {"metadata": {"name": "a"}, "spec": {"images": {"web": {"tags": tags}}}}
    async with kruise_api() as kruise:
        with pytest.raises(ApiError) as refused:
            await kruise.client.create(codec.from_plain(plain, NodeImage))
    assert (refused.value.code, str(refused.value)) == (400, message)
