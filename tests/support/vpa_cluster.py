"""A cluster with the extension ``vpa``, a simulated node, metrics, and a Deployment ``web`` of its pods."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod
from podling.client.requests import SYSTEM
from podling.client.typed_kinds import TypedClient
from podling.controllers.base import ControllerFactory
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.machinery.encoding import codec
from podling.testing import ControlPlane, memory_cluster, running
from podling_vpa.extension import VpaExtension
from podling_vpa.names import FEATURE_GATES
from podling_vpa.recommender.controller import RecommenderController
from podling_vpa.recommender.settings import DEFAULT_SETTINGS, RecommenderSettings
from podling_vpa.types import VerticalPodAutoscaler, VerticalPodAutoscalerCheckpoint
from podling_vpa.updater.controller import UpdaterController
from podling_vpa.updater.settings import DEFAULT_SETTINGS as UPDATER_SETTINGS
from podling_vpa.updater.settings import UpdaterSettings
from tests.support.control_loops import told
from tests.support.kubelet_node import NODE, SimNode, sim_node
from tests.support.resource_metrics import KubeletPages
from tests.support.vertical_autoscalers import LABELS, manifest

WORKLOADS: Sequence[ControllerFactory] = (DeploymentController, ReplicaSetController)
Usage = Sequence[tuple[float, int, int]]
"""Seconds of a container's run, and from then on millicores and bytes."""


def curve(usage: Usage, **life: Any) -> dict[str, str]:
    """Return the annotation of a pod whose container ``app`` uses so much."""
    steps = [{"after": after, "cpuMillicores": cpu, "memoryBytes": memory} for after, cpu, memory in usage]
    return {"sim.podling.dev/app": json.dumps({"usage": steps, **life})}


def deployment(
    replicas: int, usage: Usage, resources: Mapping[str, Any], name: str = "web", **life: Any
) -> Deployment:
    """Return a Deployment of pods with one container ``app`` on the simulated node."""
    container = {"name": "app", "image": "app:1", "resources": dict(resources)}
    labels = {**LABELS, "app": name}
    template = {
        "metadata": {"labels": labels, "annotations": curve(usage, **life)},
        "spec": {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [container]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return msgspec.convert({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, Deployment)


class VpaCluster:
    def __init__(self, plane: ControlPlane, node: SimNode) -> None:
        self.plane, self.node, self.client = plane, node, TypedClient(plane.client)
        self.pages = KubeletPages(node)
        plane.server.serve_resource_metrics(self.pages.read)

    async def deploy(self, replicas: int, usage: Usage, resources: Mapping[str, Any], **life: Any) -> None:
        """Create the Deployment, and wait until its pods run."""
        await self.client.create(deployment(replicas, usage, resources, **life))
        await self.wait(5)

    async def autoscale(self, mode: str = "Off", *policies: dict[str, Any], **spec: Any) -> None:
        """Create an autoscaler ``web`` of the Deployment ``web``."""
        made = codec.from_plain(manifest(mode, *policies, **spec), VerticalPodAutoscaler)
        await self.client.create(made)

    async def get(self) -> VerticalPodAutoscaler:
        return await self.client.get(VerticalPodAutoscaler, "web", "default")

    async def target(self) -> dict[str, str]:
        """Return the target of the first container; empty without a recommendation."""
        found = (await self.get()).status.recommendation
        each = found.container_recommendations if found is not None else ()
        return each[0].wanted if each else {}

    async def conditions(self) -> dict[str, tuple[str, str, str]]:
        found = (await self.get()).status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in found}

    async def checkpoints(self) -> list[VerticalPodAutoscalerCheckpoint]:
        return list((await self.client.list(VerticalPodAutoscalerCheckpoint, "default")).items)

    async def pods(self) -> list[Pod]:
        """Return the pods that are not being deleted, in the order of names."""
        found = (await self.client.list(Pod, "default")).items
        return [pod for pod in found if pod.metadata.deletion_timestamp is None]

    async def requests(self) -> list[dict[str, str]]:
        return [pod.spec.containers[0].resources.requests for pod in await self.pods()]

    async def events(self) -> list[str]:
        """Return the events of the updater as ``<type> <reason> <object>: <message>``."""
        reasons = ("EvictedByVPA", "EvictedPod", "InPlaceResizedByVPA", "InPlaceResizeSkipped")
        return [each for each in await told(self.plane.client) if each.split()[1] in reasons]

    async def wait(self, seconds: float) -> None:
        await self.node.pass_time(seconds)

    @asynccontextmanager
    async def working(
        self,
        settings: RecommenderSettings = DEFAULT_SETTINGS,
        updater: UpdaterSettings = UPDATER_SETTINGS,
        **gates: bool,
    ) -> AsyncIterator[None]:
        """Run the recommender and the updater."""
        chosen = {**FEATURE_GATES, **gates}
        others = self.plane.server.other_contents(SYSTEM)
        recommender = partial(RecommenderController, others=others, settings=settings, gates=chosen)
        updating = partial(UpdaterController, settings=updater, gates=chosen)
        async with running(self.plane.client, recommender, updating):
            yield


@asynccontextmanager
async def vpa_api(root: Path, **gates: bool) -> AsyncIterator[VpaCluster]:
    """Run the API server with the extension, a node and the controllers of workloads."""
    async with (
        memory_cluster(extensions=[VpaExtension(gates)]) as plane,
        sim_node(plane, root) as node,
        running(plane.client, *WORKLOADS),
    ):
        yield VpaCluster(plane, node)


@asynccontextmanager
async def vpa_cluster(
    root: Path, settings: RecommenderSettings = DEFAULT_SETTINGS, **gates: bool
) -> AsyncIterator[VpaCluster]:
    """Run ``vpa_api`` with recommender and updater."""
    async with vpa_api(root, **gates) as cluster, cluster.working(settings, UPDATER_SETTINGS, **gates):
        yield cluster
