"""NodeImages of nodes that do not respond."""

from __future__ import annotations

from pathlib import Path

from tests.support.image_pull_jobs import add_silent_node, cluster, image_of, job, job_of


async def test_silent_node_fails_after_ten_minutes(tmp_path: Path) -> None:
    async with cluster(tmp_path) as kruise:
        await add_silent_node(kruise, "other")
        await kruise.client.create(job(selector={"names": ["other"]}))
        await kruise.wait(590)
        assert (await job_of(kruise)).status.active == 1
        await kruise.wait(20)
        (tag,) = (await image_of(kruise, "other")).status.image_statuses["web"].tags
        assert tag.message == "node has not responded for a long time"
        assert (await job_of(kruise)).status.failed_nodes == ("other",)
