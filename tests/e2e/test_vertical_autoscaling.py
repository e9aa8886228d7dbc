"""The updater resizes real containers: another cgroup limit, the same pod, no restart."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Node, Pod
from podling.client.requests import SYSTEM
from podling.client.typed_kinds import TypedClient
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.kubelet.config import KubeletConfig
from podling.kubelet.kubelet import Kubelet
from podling.kubelet.server.machine_use import MachineMeter
from podling.kubelet.server.server_metrics import resource_metrics_text
from podling.kubelet.server.snapshot import take_snapshot
from podling.machinery.encoding import codec
from podling.machinery.pods import is_ready
from podling.testing import running
from podling_vpa.extension import VpaExtension
from podling_vpa.recommender.controller import RecommenderController
from podling_vpa.recommender.settings import RecommenderSettings
from podling_vpa.types import VerticalPodAutoscaler
from podling_vpa.updater.controller import UpdaterController
from podling_vpa.updater.settings import UpdaterSettings
from tests.support import oci_node
from tests.support.cgroup_values import cgroup_of, values
from tests.support.real_kubelet import NODE, RealNode, real_node
from tests.support.vertical_autoscalers import manifest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

DEADLINE_SECONDS = 60.0
INTERVAL = 1.0
"""Seconds between two rounds of recommender and updater."""


def deployment(image: str) -> Deployment:
    """Return a Deployment of one pod, whose container may use 200m of the 100m requested."""
    labels = {"app": "web"}
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": list(oci_node.SLEEP),
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}},
    }
    spec = {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [container]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    whole = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return msgspec.convert({"metadata": {"name": "web", "namespace": "default"}, "spec": whole}, Deployment)


class Pages:
    """Reads the figures of the node's kubelet as the API server does."""

    def __init__(self, node: RealNode, kubelet: Kubelet) -> None:
        self._node, self._kubelet, self._meter = node, kubelet, MachineMeter()

    async def read(self, _: Node) -> str:
        snapshot = await take_snapshot(self._kubelet.pod_view)
        return resource_metrics_text(snapshot, await self._meter.read(self._node.machine.runtime, snapshot))


async def pod_with_request(node: RealNode, request: str) -> Pod:
    """Wait until the only pod is Ready and its container has a request for CPU; return it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            for pod in (await node.client.list(Pod, "default")).items:
                statuses = pod.status.container_statuses
                resources = statuses[0].resources if statuses else None
                if is_ready(pod) and resources is not None and resources.requests.get("cpu") == request:
                    return pod
            await clock.sleep(0.05)


async def test_resize_by_the_updater_changes_the_cgroup_and_nothing_else(tmp_path: Path) -> None:
    policy: dict[str, Any] = {"updateMode": "InPlaceOrRecreate", "minReplicas": 1}
    config = KubeletConfig(eviction_hard={}, max_pods=10)
    async with real_node(tmp_path, config, extensions=[VpaExtension()]) as node:
        node.plane.server.serve_resource_metrics(Pages(node, node.kubelet).read)
        others = node.plane.server.other_contents(SYSTEM)
        recommender = partial(
            RecommenderController, others=others, settings=RecommenderSettings(interval=INTERVAL)
        )
        updater = partial(UpdaterController, settings=UpdaterSettings(interval=INTERVAL))
        async with running(node.client, DeploymentController, ReplicaSetController, recommender, updater):
            await node.client.create(deployment(node.machine.image))
            before = await pod_with_request(node, "100m")
            old = values(cgroup_of(before.metadata.uid or ""))
            autoscaler = codec.from_plain(manifest(updatePolicy=policy), VerticalPodAutoscaler)
            await TypedClient(node.client).create(autoscaler)

            after = await pod_with_request(node, "25m")

        assert after.metadata.uid == before.metadata.uid
        (was,), (now,) = before.status.container_statuses, after.status.container_statuses
        assert (now.container_id, now.restart_count) == (was.container_id, 0)
        assert after.metadata.annotations["vpaInPlaceUpdated"] == "true"
        resources = after.spec.containers[0].resources
        assert resources.requests == {"cpu": "25m", "memory": "250Mi"}
        assert resources.limits == {"cpu": "50m"}, "twice the request, as before"
        new = values(cgroup_of(after.metadata.uid or ""))
        assert (old.quota, new.quota) == (20_000, 5_000)
        assert new.shares < old.shares
