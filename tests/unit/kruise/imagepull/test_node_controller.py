"""Pulls by the node: tries, time limits, a kubelet that was away."""

from __future__ import annotations

from pathlib import Path

from podling.runtime.sim.script import PullFailure
from tests.support.control_loops import told
from tests.support.image_pull_jobs import cluster, image_of, job, job_of
from tests.support.kubelet_node import NODE


async def test_failed_pulls_are_tried_again(tmp_path: Path) -> None:
    failures = (PullFailure(message="no route"), PullFailure(message="no route"))
    async with cluster(tmp_path, failures=failures) as kruise:
        await kruise.client.create(job())
        await kruise.wait(20)
        assert (await job_of(kruise)).status.succeeded == 1


async def test_node_without_the_image_after_all_tries_has_failed(tmp_path: Path) -> None:
    async with cluster(tmp_path, missing=True) as kruise:
        await kruise.client.create(job(pullPolicy={"backoffLimit": 1}))
        await kruise.wait(30)
        found = await job_of(kruise)
        events = await told(kruise.plane.client)
    assert (found.status.failed, found.status.failed_nodes) == (1, (NODE,))
    assert any("PullImageFailed" in text and " pull: " in text for text in events)


async def test_try_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=100) as kruise:
        await kruise.client.create(job(pullPolicy={"backoffLimit": 0, "timeoutSeconds": 10}))
        await kruise.wait(20)
        (tag,) = (await image_of(kruise)).status.image_statuses["web"].tags
    assert (tag.phase, tag.message) == ("Failed", "pulling image web:1 is canceled")


async def test_second_job_pulls_again_only_if_it_is_to(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=30) as kruise:
        await kruise.client.create(job())
        await kruise.wait(40)
        await kruise.client.create(job(name="present"))
        await kruise.wait(10)
        assert (await job_of(kruise, "present")).status.succeeded == 1
        await kruise.client.create(job(name="always", imagePullPolicy="Always"))
        await kruise.wait(10)
        assert (await job_of(kruise, "always")).status.active == 1
        await kruise.wait(40)
        assert (await job_of(kruise, "always")).status.succeeded == 1
        (tag,) = (await image_of(kruise)).status.image_statuses["web"].tags
    assert tag.version == 2


async def test_kubelet_that_was_away_pulls_later(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=20) as kruise:
        await kruise.client.create(job())
        await kruise.wait(5)
        await kruise.node.restart()
        await kruise.wait(30)
        assert (await job_of(kruise)).status.succeeded == 1
