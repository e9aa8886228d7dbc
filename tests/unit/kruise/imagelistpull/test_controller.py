"""ImageListPullJobs in a cluster with OpenKruise on virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.machinery.errors import ApiError, is_not_found
from podling.runtime.sim.script import ImageScript
from podling_kruise.imagelistpull.types import ImageListPullJob
from podling_kruise.names import REVISION_HASH
from tests.support.control_loops import told
from tests.support.image_list_pull_jobs import jobs_of, list_job, list_of, registry


async def test_every_image_gets_a_job_and_the_list_ends_with_the_last(tmp_path: Path) -> None:
    fast, slow = ImageScript(pull_seconds=5), ImageScript(pull_seconds=30)
    async with registry(tmp_path, web=fast, log=slow) as kruise:
        await kruise.client.create(list_job())
        await kruise.wait(15)
        during = await list_of(kruise)
        await kruise.wait(30)
        after, jobs = await list_of(kruise), await jobs_of(kruise)
        events = await told(kruise.plane.client)
        for image in ("web:1", "log:1"):
            assert await kruise.node.runtime.images.image_status(image) is not None
    first = during.status
    assert (first.desired, first.active, first.completed, first.succeeded) == (2, 1, 1, 1)
    last = after.status
    assert (last.active, last.completed, last.succeeded) == (0, 2, 2)
    assert last.completion_time is not None
    digest = after.metadata.labels[REVISION_HASH]
    assert {job.metadata.labels[REVISION_HASH] for job in jobs.values()} == {digest}
    assert any(
        "Successful create ImagePullJob" in text and "Create 2 ImagePullJob" in text for text in events
    )


async def test_changed_list_and_template_change_the_jobs(tmp_path: Path) -> None:
    async with registry(tmp_path, web=ImageScript(pull_seconds=300)) as kruise:
        await kruise.client.create(list_job())
        await kruise.wait(15)
        before = await jobs_of(kruise)
        patch = {"spec": {"images": ["web:1", "proxy:1"]}}
        await kruise.client.patch(ImageListPullJob, "pulls", patch, "default")
        await kruise.wait(15)
        changed = await jobs_of(kruise)
        await kruise.client.patch(ImageListPullJob, "pulls", {"spec": {"parallelism": 3}}, "default")
        await kruise.wait(15)
        renewed = await jobs_of(kruise)
    assert (set(before), set(changed)) == ({"web:1", "log:1"}, {"web:1", "proxy:1"})
    assert changed["web:1"].metadata.uid == before["web:1"].metadata.uid
    assert renewed["web:1"].metadata.uid != before["web:1"].metadata.uid
    assert {job.spec.parallelism for job in renewed.values()} == {3}


async def test_ended_list_is_deleted_after_its_time_and_pulls_once(tmp_path: Path) -> None:
    slow = ImageScript(pull_seconds=60)
    async with registry(tmp_path, web=slow) as kruise:
        completion = {"type": "Always", "ttlSecondsAfterFinished": 20}
        await kruise.client.create(list_job(completionPolicy=completion))
        await kruise.wait(10)
        early = (await jobs_of(kruise))["log:1"].metadata.uid
        await kruise.wait(60)
        assert (await jobs_of(kruise))["log:1"].metadata.uid == early
        assert (await list_of(kruise)).status.completion_time is not None
        await kruise.wait(30)
        with pytest.raises(ApiError) as gone:
            await list_of(kruise)
    assert is_not_found(gone.value)


async def test_endless_list_goes_on(tmp_path: Path) -> None:
    async with registry(tmp_path) as kruise:
        await kruise.client.create(list_job(completionPolicy={"type": "Never"}))
        await kruise.wait(40)
        found = await list_of(kruise)
        assert (found.status.succeeded, found.status.completion_time) == (2, None)
        patch = {"spec": {"images": ["web:1", "log:1", "proxy:1"]}}
        await kruise.client.patch(ImageListPullJob, "pulls", patch, "default")
        await kruise.wait(40)
        assert (await list_of(kruise)).status.succeeded == 3
