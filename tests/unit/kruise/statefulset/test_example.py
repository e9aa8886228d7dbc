"""``examples/kruise/statefulset.yaml`` does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.api.core_v1 import Pod
from podling.machinery.errors import ApiError
from tests.support.advanced_sets import StatefulSets
from tests.support.clone_sets import cluster_of
from tests.support.kubelet_node import NODE

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "statefulset.yaml"


async def pods(sets: StatefulSets) -> dict[str, Pod]:
    found = (await sets.client.list(Pod, "default", label_selector="app=db")).items
    return {pod.metadata.name or "": pod for pod in found}


async def test_example_is_updated_in_place_and_refuses_other_changes(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    template = plain["spec"]["template"]
    template["spec"]["nodeName"] = NODE
    async with cluster_of(StatefulSets, tmp_path) as sets:
        kind, client = sets.kind("v1beta1"), sets.plane.client
        await sets.create(plain)
        await sets.wait()
        before = await pods(sets)
        assert list(before) == ["db-0", "db-1", "db-2"]
        template["spec"]["containers"][0]["image"] = "podling.local/host"
        await client.patch(kind, "db", {"spec": {"template": template}}, "default")
        await sets.wait(60)
        after = await pods(sets)
        assert {pod.spec.containers[0].image for pod in after.values()} == {"podling.local/host"}
        assert [pod.metadata.uid for pod in after.values()] == [pod.metadata.uid for pod in before.values()]
        await client.patch(kind, "db", {"spec": {"reserveOrdinals": [1]}}, "default")
        await sets.wait(120)
        assert list(await pods(sets)) == ["db-0", "db-2", "db-3"]
        template["spec"]["hostNetwork"] = True
        with pytest.raises(ApiError, match="currently only image update is allowed for InPlaceOnly"):
            await client.patch(kind, "db", {"spec": {"template": template}}, "default")
