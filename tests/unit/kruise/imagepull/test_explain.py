"""``podling why`` for ImagePullJobs, on virtual time."""

from __future__ import annotations

from pathlib import Path

from podling.cli.evidence import Explanation, PartProblems
from podling.cli.workloads.extension_kinds import kind_of, why_extended
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise
from tests.support.image_pull_jobs import cluster, job


async def ask(kruise: Kruise, kind: str, name: str = "web") -> Explanation:
    found = kind_of([KruiseExtension()], kind)
    assert found is not None
    return await why_extended(kruise.plane.client, found, name, "default", PartProblems())


async def test_node_that_cannot_pull_is_named_with_the_error(tmp_path: Path) -> None:
    async with cluster(tmp_path, missing=True) as kruise:
        await kruise.client.create(job(pullPolicy={"backoffLimit": 0}))
        await kruise.wait(20)
        failed = await ask(kruise, "imagepulljob", "pull")
        await kruise.client.create(job(name="none", selector={"names": ["absent"]}))
        await kruise.wait(5)
        without_nodes = await ask(kruise, "imagepulljob", "none")
    assert failed.reason == "Failed"
    assert "Node node-1: " in failed.text
    assert without_nodes.reason == "NoNodes"
