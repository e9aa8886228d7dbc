"""Copies of pull secrets for nodes."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from podling.api.core_v1 import Secret
from podling.machinery.encoding import codec
from tests.support.image_pull_jobs import cluster, image_of, job, job_of


def login(name: str) -> Secret:
    config = {"auths": {"docker.io": {"username": "me", "password": "secret"}}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}
    metadata = {"name": name, "namespace": "default"}
    plain = {"metadata": metadata, "type": "kubernetes.io/dockerconfigjson", "data": data}
    return codec.from_plain(plain, Secret)


async def test_copy_of_a_pull_secret_lives_as_long_as_its_jobs(tmp_path: Path) -> None:
    async with cluster(tmp_path, pull_seconds=20) as kruise:
        await kruise.client.create(login("hub"))
        for name in ("pull", "other"):
            await kruise.client.create(job(name=name, pullSecrets=["hub"]))
        await kruise.wait(5)
        (copy,) = (await kruise.client.list(Secret, "kruise-daemon-config")).items
        assert copy.metadata.annotations["imagepulljobs.kruise.io/references"] == "default/other,default/pull"
        spec = (await image_of(kruise)).spec.images["web"]
        assert [each.name for each in spec.pull_secrets] == [copy.metadata.name]
        await kruise.wait(60)
        assert (await job_of(kruise)).status.succeeded == 1
        assert (await kruise.client.list(Secret, "kruise-daemon-config")).items == ()
