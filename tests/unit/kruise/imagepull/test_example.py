"""``examples/kruise/imagepulljob.yaml``: the manifest does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.imagepull.types import ImagePullJob
from tests.support.clone_sets import kruise_cluster

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "imagepulljob.yaml"


async def test_example_pulls_the_image_and_ends(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.wait(40)
        await kruise.client.create(codec.from_plain(plain, ImagePullJob))
        await kruise.wait(20)
        found = await kruise.client.get(ImagePullJob, "web-image", "default")
        assert (found.status.succeeded, found.status.message) == (1, "job has completed")
        assert await kruise.node.runtime.images.image_status("nginx:1.27") is not None
        await kruise.wait(620)
        with pytest.raises(ApiError) as gone:
            await kruise.client.get(ImagePullJob, "web-image", "default")
        assert is_not_found(gone.value)
