"""ImageListPullJobs, and their ImagePullJobs as a cluster shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podling.machinery.encoding import codec
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling_kruise.imagelistpull.types import ImageListPullJob
from podling_kruise.imagepull.types import ImagePullJob
from tests.support.clone_sets import Kruise, kruise_cluster


def list_job(*images: str, name: str = "pulls", **spec: Any) -> ImageListPullJob:
    """Return an ImageListPullJob of these images; further fields of its spec by name."""
    metadata = {"name": name, "namespace": "default"}
    given = list(images or ("web:1", "log:1"))
    return codec.from_plain({"metadata": metadata, "spec": {"images": given, **spec}}, ImageListPullJob)


async def list_of(kruise: Kruise, name: str = "pulls") -> ImageListPullJob:
    return await kruise.client.get(ImageListPullJob, name, "default")


async def jobs_of(kruise: Kruise) -> dict[str, ImagePullJob]:
    """Return the ImagePullJobs that are not being deleted, by their images."""
    listed = (await kruise.client.list(ImagePullJob, "default")).items
    return {each.spec.image: each for each in listed if each.metadata.deletion_timestamp is None}


@asynccontextmanager
async def registry(root: Path, **images: ImageScript) -> AsyncIterator[Kruise]:
    """Run a cluster whose registry has scripts for the images ``NAME:1``."""
    scripts = {f"docker.io/library/{name}:1": script for name, script in images.items()}
    async with kruise_cluster(root, Scenario(images=scripts)) as kruise:
        await kruise.wait(40)
        yield kruise
