"""``examples/kruise/launch-priority.yaml`` does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from podling.api.core_v1 import ConfigMap, Pod
from podling.machinery.pods import is_ready
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import NODE

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "launch-priority.yaml"


async def test_application_starts_when_the_proxy_is_ready(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    plain["spec"]["nodeName"] = NODE
    plain["spec"]["containers"][1]["readinessProbe"]["initialDelaySeconds"] = 5
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.node.create(msgspec.convert(plain, Pod))
        await cluster.wait(3)
        early = {
            each.name: each.state for each in (await cluster.node.get("ordered")).status.container_statuses
        }
        await cluster.wait(30)
        found = await cluster.node.get("ordered")
        held = await cluster.plane.client.get(ConfigMap, "ordered-barrier", "default")
    assert early["proxy"].running is not None
    assert early["application"].waiting is not None
    assert early["application"].waiting.reason == "CreateContainerConfigError"
    assert is_ready(found)
    assert held.data == {"p_0": "true", "p_1": "true"}
