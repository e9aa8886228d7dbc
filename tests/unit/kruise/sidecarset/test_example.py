"""``examples/kruise/sidecarset.yaml``: the manifest does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import yaml

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import NODE
from tests.support.sidecar_sets import change_set, create, images

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "sidecarset.yaml"


async def test_example_is_injected_and_updated_in_the_living_pod(tmp_path: Path) -> None:
    owner, plain = yaml.safe_load_all(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    plain["spec"]["nodeName"] = NODE
    async with kruise_cluster(tmp_path) as kruise:
        await create(kruise, owner)
        made = await kruise.client.create(codec.from_plain(plain, Pod))
        assert list(images(made)) == ["agent", "main"]
        assert [each.mount_path for each in made.spec.containers[0].volume_mounts][:1] == ["/logs"]
        await kruise.wait()
        container = {**owner["spec"]["containers"][0], "image": "podling.local/host"}
        await change_set(kruise, "agent", containers=[container])
        await kruise.wait(60)
        (found,) = await kruise.pods()
        assert images(found)["agent"] == "podling.local/host"
        counts = {each.name: each.restart_count for each in found.status.container_statuses}
        assert counts == {"agent": 1, "main": 0}
