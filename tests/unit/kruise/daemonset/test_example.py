"""``examples/kruise/daemonset.yaml`` does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import yaml

from podling.api.core_v1 import Node, Pod
from tests.support.advanced_sets import DaemonSets
from tests.support.clone_sets import cluster_of
from tests.support.kubelet_node import NODE

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "daemonset.yaml"


async def test_example_is_updated_in_place_where_the_node_is_selected(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    template = plain["spec"]["template"]
    template["spec"]["nodeName"] = NODE
    async with cluster_of(DaemonSets, tmp_path) as sets:
        kind, client = sets.kind("v1beta1"), sets.plane.client
        await client.patch(Node, NODE, {"spec": {"taints": None}})
        await sets.create(plain)
        await sets.wait()
        (before,) = (await client.list(Pod, "default")).items
        template["spec"]["containers"][0]["image"] = "podling.local/host"
        selected = {"updateStrategy": {"rollingUpdate": {"selector": {"matchLabels": {"canary": "yes"}}}}}
        await client.patch(kind, "agent", {"spec": {**selected, "template": template}}, "default")
        await sets.wait(60)
        (same,) = (await client.list(Pod, "default")).items
        assert same.spec.containers[0].image == "podling.local/host:latest"
        everywhere = {"updateStrategy": {"rollingUpdate": {"selector": None}}}
        await client.patch(kind, "agent", {"spec": everywhere}, "default")
        await sets.wait(60)
        (after,) = (await client.list(Pod, "default")).items
        assert (after.metadata.uid, after.spec.containers[0].image) == (
            before.metadata.uid,
            "podling.local/host",
        )
