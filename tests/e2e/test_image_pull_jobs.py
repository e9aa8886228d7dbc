"""A node of real containers pulls an image from a registry with a login, before a pod needs it."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.typed_kinds import TypedClient
from podling.kubelet.config import KubeletConfig
from podling.machinery.encoding import codec
from podling.testing import running
from podling_kruise.extension import KruiseExtension
from podling_kruise.imagepull.types import ImagePullJob, NodeImage
from tests.support import oci_node
from tests.support.images import busybox_archive
from tests.support.real_kubelet import NODE, real_node
from tests.support.registry import PASSWORD, USER, registry

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
    pytest.mark.skipif(not shutil.which("docker-registry"), reason="needs docker-registry"),
    pytest.mark.skipif(not shutil.which("skopeo"), reason="needs skopeo"),
]

DEADLINE_SECONDS = 60.0


def login(host: str) -> Secret:
    config = {"auths": {host: {"username": USER, "password": PASSWORD}}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}
    metadata = ObjectMeta(name="login", namespace="default")
    return Secret(metadata=metadata, type="kubernetes.io/dockerconfigjson", data=data)


async def ended(client: TypedClient, job: ImagePullJob) -> ImagePullJob:
    """Create a job and return it when it has ended."""
    await client.create(job)
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            found = await client.get(ImagePullJob, job.metadata.name or "", "default")
            if found.status.completion_time is not None:
                return found
            await clock.sleep(0.05)


async def test_image_is_pulled_with_the_secret_of_the_job(tmp_path: Path) -> None:
    extension = KruiseExtension()
    config = KubeletConfig(eviction_hard={}, max_pods=10)
    with registry(tmp_path / "registry", login=True) as private:
        private.push(f"docker-archive:{busybox_archive(tmp_path / 'image.tar', 'web:1')}", "web:1")
        name = f"{private.address}/web:1"
        async with (
            real_node(tmp_path / "node", config, extensions=[extension]) as node,
            running(node.client, *extension.controllers().values()),
        ):
            client = TypedClient(node.client)
            await client.create(NodeImage(metadata=ObjectMeta(name=NODE)))
            await client.create(login(private.address))
            spec = {"image": name, "pullPolicy": {"backoffLimit": 0}}
            plain = {"metadata": {"name": "without", "namespace": "default"}, "spec": spec}
            without = await ended(client, codec.from_plain(plain, ImagePullJob))
            assert (without.status.failed_nodes, without.status.succeeded) == ((NODE,), 0)
            assert await node.machine.runtime.images.image_status(name) is None

            spec = {**spec, "pullSecrets": ["login"]}
            plain = {"metadata": {"name": "with", "namespace": "default"}, "spec": spec}
            done = await ended(client, codec.from_plain(plain, ImagePullJob))
            assert (done.status.succeeded, done.status.failed) == (1, 0)
            found = await node.machine.runtime.images.image_status(name)
            assert found is not None
            (image,) = (await client.get(NodeImage, NODE)).status.image_statuses.values()
            assert image.tags[0].image_id.endswith(found.id)
