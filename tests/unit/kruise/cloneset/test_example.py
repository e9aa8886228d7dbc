"""``examples/kruise``: the manifest does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.machinery.errors import ApiError
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import NODE

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "cloneset.yaml"


async def test_example_is_updated_in_place_and_refuses_other_changes(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    plain["spec"]["template"]["spec"]["nodeName"] = NODE
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.create(plain)
        await kruise.wait()
        before = {pod.metadata.uid for pod in await kruise.pods()}
        template = plain["spec"]["template"]
        template["spec"]["containers"][0]["image"] = "podling.local/host"
        await kruise.patch(template=template)
        await kruise.wait(60)
        assert await kruise.images() == {"podling.local/host": 3}
        assert {pod.metadata.uid for pod in await kruise.pods()} == before
        template["spec"]["hostNetwork"] = True
        with pytest.raises(ApiError, match="only allowed to update images in spec for InPlaceOnly"):
            await kruise.patch(template=template)
