"""ImagePullJobs in a cluster with OpenKruise, whose simulated node has its NodeImage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podling.api.core_v1 import Node
from podling.machinery.encoding import codec
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling_kruise.imagepull.types import ImagePullJob, NodeImage
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.kubelet_node import NODE

REFERENCE = "docker.io/library/web:1"


def job(image: str = "web:1", name: str = "pull", **spec: Any) -> ImagePullJob:
    metadata = {"name": name, "namespace": "default"}
    return codec.from_plain({"metadata": metadata, "spec": {"image": image, **spec}}, ImagePullJob)


@asynccontextmanager
async def cluster(root: Path, **image: Any) -> AsyncIterator[Kruise]:
    """Run a cluster whose node has its NodeImage."""
    scenario = Scenario(images={REFERENCE: ImageScript(**image)})
    async with kruise_cluster(root, scenario) as kruise:
        await kruise.wait(40)
        yield kruise


async def job_of(kruise: Kruise, name: str = "pull") -> ImagePullJob:
    return await kruise.client.get(ImagePullJob, name, "default")


async def image_of(kruise: Kruise, node: str = NODE) -> NodeImage:
    return await kruise.client.get(NodeImage, node)


async def add_silent_node(kruise: Kruise, name: str, **labels: str) -> None:
    """Add a node that is Ready for long and has no kubelet."""
    await kruise.client.create(codec.from_plain({"metadata": {"name": name, "labels": labels}}, Node))
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}
    await kruise.client.patch(Node, name, {"status": {"conditions": [ready]}}, subresource="status")
    await kruise.wait(5)
