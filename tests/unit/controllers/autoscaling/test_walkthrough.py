"""The walkthrough of Kubernetes' documentation on a simulated node: curves, metrics, autoscaler."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.client.requests import SYSTEM
from podling.controllers.autoscaling.horizontal import HorizontalController
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.kubelet_node import NODE, SimNode, sim_node
from tests.support.resource_metrics import KubeletPages

EXAMPLE = Path(__file__).parents[4] / "examples" / "autoscaling.yaml"


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path) as found:
        cluster.server.serve_resource_metrics(KubeletPages(found).read)
        metrics = cluster.server.other_contents(SYSTEM)
        make: Any = partial(HorizontalController, metrics=metrics)
        async with running(cluster.client, DeploymentController, ReplicaSetController, make):
            yield found


async def test_example_scales_with_its_curve(cluster: ControlPlane, node: SimNode) -> None:
    deployment, autoscaler = yaml.safe_load_all(EXAMPLE.read_text())
    deployment["spec"]["template"]["spec"]["nodeName"] = NODE
    await cluster.client.create(msgspec.convert(deployment, Deployment), namespace="default")
    await cluster.client.create(msgspec.convert(autoscaler, HorizontalPodAutoscaler), namespace="default")
    sizes: list[tuple[int, int]] = []
    for step in range(4 * 40):
        await node.pass_time(15)
        size = (await cluster.client.get(Deployment, "php-apache", "default")).spec.replicas or 0
        if not sizes or sizes[-1][1] != size:
            sizes.append((step * 15, size))
    # The pod computes from its second minute on and uses three times the target. Those that it brings begin
    # idle, compute from their own second minute on, and need a fourth. Five minutes after all are idle one is
    # left.
    assert [size for _, size in sizes] == [1, 3, 4, 2, 1]
    changes = [seconds for seconds, _ in sizes]
    assert 60 < changes[1] <= 90
    assert 60 < changes[2] - changes[1] <= 105
    assert 1020 <= changes[-1] <= 1110
    status = (await cluster.client.get(HorizontalPodAutoscaler, "php-apache", "default")).status
    conditions = {each.type: (each.status, each.reason) for each in status.conditions}
    assert conditions == {
        "AbleToScale": ("True", "ReadyForNewScale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    (metric,) = status.current_metrics
    assert metric.resource is not None
    assert metric.resource.current.average_utilization == 1
