"""ImagePullJobs in a cluster with OpenKruise on virtual time: nodes, parallelism, ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.imagepull.types import ImagePullJob
from tests.support.control_loops import told
from tests.support.image_pull_jobs import add_silent_node, cluster, image_of, job, job_of
from tests.support.kubelet_node import NODE, pod


async def test_image_is_pulled_on_the_node_and_the_job_ends(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=5) as kruise:
        await kruise.client.create(job())
        await kruise.wait(2)
        during = await job_of(kruise)
        await kruise.wait(10)
        after, image = await job_of(kruise), await image_of(kruise)
        events = await told(kruise.plane.client)
        assert await kruise.node.runtime.images.image_status("web:1") is not None
    assert (during.status.desired, during.status.active) == (1, 1)
    assert during.status.message == "job is running, progress 0.0%"
    assert (after.status.succeeded, after.status.failed, after.status.active) == (1, 0, 0)
    assert after.status.message == "job has completed"
    assert after.status.completion_time is not None
    (tag,) = image.status.image_statuses["web"].tags
    assert (tag.tag, tag.phase, tag.progress) == ("1", "Succeeded", 100)
    assert tag.image_id.startswith("web@sha256:")
    assert (image.status.desired, image.status.succeeded) == (1, 1)
    assert any("PullImageSucceed" in text and "Image web:1, ecalpsedTime 5" in text for text in events)


async def test_nodes_pull_one_after_another_by_default(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=10) as kruise:
        await add_silent_node(kruise, "other")
        await kruise.client.create(job())
        await kruise.wait(5)
        images = [await image_of(kruise, name) for name in (NODE, "other")]
        assert sum("web" in each.spec.images for each in images) == 1
        await kruise.client.patch(ImagePullJob, "pull", {"spec": {"parallelism": 2}}, "default")
        await kruise.wait(5)
        images = [await image_of(kruise, name) for name in (NODE, "other")]
        assert sum("web" in each.spec.images for each in images) == 2


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ({}, {NODE, "other"}),
        ({"selector": {"names": ["other", "absent"]}}, {"other"}),
        ({"selector": {"matchLabels": {"disk": "fast"}}}, {"other"}),
        ({"podSelector": {"matchLabels": {"app": "web"}}}, {NODE}),
    ],
)
async def test_job_is_for_the_selected_nodes(spec: dict[str, Any], nodes: set[str], tmp_path: Path) -> None:
    async with cluster(tmp_path) as kruise:
        await add_silent_node(kruise, "other", disk="fast")
        made = codec.to_plain(pod())
        made["metadata"]["labels"] = {"app": "web"}
        await kruise.node.create(codec.from_plain(made, type(pod())))
        await kruise.client.create(job(parallelism=10, **spec))
        await kruise.wait(20)
        found = {name for name in (NODE, "other") if "web" in (await image_of(kruise, name)).spec.images}
        desired = (await job_of(kruise)).status.desired
    assert (found, desired) == (nodes, len(nodes))


async def test_job_ends_at_its_deadline_and_is_deleted_later(tmp_path: Path) -> None:
    async with cluster(tmp_path) as kruise:
        await add_silent_node(kruise, "other")
        completion = {"activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 100}
        await kruise.client.create(job(completionPolicy=completion, pullPolicy={"timeoutSeconds": 60}))
        await kruise.wait(70)
        status = (await job_of(kruise)).status
        assert (status.message, status.succeeded) == ("job exceeds activeDeadlineSeconds", 1)
        assert status.failed_nodes == ("other",)
        await kruise.wait(120)
        with pytest.raises(ApiError) as gone:
            await job_of(kruise)
        assert is_not_found(gone.value)
        assert (await image_of(kruise)).spec.images == {}


async def test_endless_job_goes_on_to_new_nodes(tmp_path: Path) -> None:
    async with cluster(tmp_path) as kruise:
        await kruise.client.create(job(completionPolicy={"type": "Never"}))
        await kruise.wait(10)
        status = (await job_of(kruise)).status
        assert (status.succeeded, status.completion_time) == (1, None)
        await add_silent_node(kruise, "other")
        await kruise.wait(10)
        assert "web" in (await image_of(kruise, "other")).spec.images
