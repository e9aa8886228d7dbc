"""``examples/kruise/imagelistpulljob.yaml``: the manifest does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.imagelistpull.types import ImageListPullJob
from tests.support.clone_sets import kruise_cluster
from tests.support.image_list_pull_jobs import jobs_of, list_of

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "imagelistpulljob.yaml"


async def test_example_pulls_both_images_and_ends(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.wait(40)
        await kruise.client.create(codec.from_plain(plain, ImageListPullJob))
        await kruise.wait(30)
        found = await list_of(kruise, "release")
        assert (found.status.succeeded, found.status.completed) == (2, 2)
        assert set(await jobs_of(kruise)) == {"nginx:1.27", "busybox:1.36"}
        await kruise.wait(620)
        with pytest.raises(ApiError) as gone:
            await list_of(kruise, "release")
        assert is_not_found(gone.value)
