"""Simulated clusters of tests: a Deployment for them, and their state."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Node, Pod
from podling.sim.simulated_cluster import SimulatedCluster


def deployment(replicas: int = 3) -> Deployment:
    labels = {"app": "web"}
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "web:1"}]},
            },
        },
    }
    return msgspec.convert(plain, Deployment)


async def pods(cluster: SimulatedCluster) -> Sequence[Pod]:
    return (await cluster.client.list(Pod, "default")).items


async def phases(cluster: SimulatedCluster) -> list[str | None]:
    return [pod.status.phase for pod in await pods(cluster)]


async def is_ready(cluster: SimulatedCluster, name: str) -> str:
    node = await cluster.client.get(Node, name)
    return next(each.status for each in node.status.conditions if each.type == "Ready")
