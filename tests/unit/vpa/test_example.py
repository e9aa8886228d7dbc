"""``examples/vertical-autoscaling.yaml`` does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from podling.api.apps_v1 import Deployment
from podling.machinery.encoding import codec
from podling_vpa.types import VerticalPodAutoscaler
from tests.support.kubelet_node import NODE
from tests.support.vpa_cluster import vpa_cluster

EXAMPLE = Path(__file__).parents[3] / "examples" / "vertical-autoscaling.yaml"


async def test_example_is_resized_in_place(tmp_path: Path) -> None:
    deployment, autoscaler = yaml.safe_load_all(EXAMPLE.read_text())
    deployment["spec"]["template"]["spec"]["nodeName"] = NODE
    async with vpa_cluster(tmp_path) as cluster:
        await cluster.client.create(msgspec.convert(deployment, Deployment), namespace="default")
        await cluster.client.create(codec.from_plain(autoscaler, VerticalPodAutoscaler), namespace="default")
        await cluster.wait(20)
        before = {pod.metadata.uid for pod in await cluster.pods()}
        await cluster.wait(600)
        assert {pod.metadata.uid for pod in await cluster.pods()} == before
        for pod in await cluster.pods():
            resources = pod.spec.containers[0].resources
            # The bucket of 500m ends at 511m; memory is the least of a pod.
            assert resources.requests == {"cpu": "587m", "memory": "250Mi"}
            assert resources.limits == {"cpu": "2935m"}, "five times the request, as before"
            assert pod.status.container_statuses[0].restart_count == 0
