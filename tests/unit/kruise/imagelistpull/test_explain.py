"""``podling why`` for ImageListPullJobs, on virtual time."""

from __future__ import annotations

from pathlib import Path

from podling.runtime.sim.script import ImageScript
from tests.support.extension_answers import why
from tests.support.image_list_pull_jobs import jobs_of, list_job, list_of, registry


async def test_images_that_are_pulled_are_counted(tmp_path: Path) -> None:
    async with registry(tmp_path, log=ImageScript(pull_seconds=30)) as kruise:
        await kruise.client.create(list_job())
        await kruise.wait(15)
        half = await why(kruise, "imagelistpulljob", "pulls")
        await kruise.wait(30)
        whole = await why(kruise, "imagelistpulljobs.apps.kruise.io", "pulls")
    assert (half.healthy, half.reason) == (False, "Pulling")
    assert half.text.startswith("ImageListPullJob pulls: 1 of 2 images are on all nodes. ImagePullJob pulls-")
    assert (whole.healthy, whole.reason) == (True, "Completed")


async def test_image_that_cannot_be_pulled_is_named(tmp_path: Path) -> None:
    async with registry(tmp_path, web=ImageScript(missing=True)) as kruise:
        await kruise.client.create(list_job(pullPolicy={"backoffLimit": 0}))
        await kruise.wait(40)
        found, answer = await list_of(kruise), await why(kruise, "imagelistpulljob", "pulls")
    assert (found.status.completed, found.status.succeeded) == (2, 1)
    (failed,) = found.status.failed_image_statuses
    assert failed.name == "web:1"
    assert found.status.completion_time is not None
    assert (answer.reason, "Node node-1: " in answer.text) == ("Failed", True)
    assert answer.evidence[0].detail == f"web:1 ({failed.image_pull_job})"
    assert answer.text.startswith("ImageListPullJob pulls: 1 of 2 images are on all nodes.")


async def test_refused_job_is_reported(tmp_path: Path) -> None:
    async with registry(tmp_path) as kruise:
        completion = {"type": "Always", "activeDeadlineSeconds": 10}
        await kruise.client.create(list_job(completionPolicy=completion))
        await kruise.wait(10)
        answer = await why(kruise, "imagelistpulljob", "pulls")
        assert await jobs_of(kruise) == {}
    assert answer.reason == "FailedCreate"
    assert "completionPolicy.activeDeadlineSeconds must be greater than" in answer.text
