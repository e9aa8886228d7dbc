"""Workloads on simulated nodes: a Deployment of many pods, created and rolled out to another image.

Wall time depends on other load of the machine; the CPU time of the cluster's process beside it does not.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from bench.harness import BenchCluster, Figure, cluster, cpu_seconds, show
from podling.api.apps_v1 import Deployment
from podling.client.http import HttpClient

PODS = 1_000
NODES = 20
DEADLINE_SECONDS = 600.0


def main() -> None:
    with cluster("--runtime", "sim", "--nodes", str(NODES)) as running:
        figures = asyncio.run(measure(running))
    show(figures)


async def measure(running: BenchCluster) -> list[Figure]:
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        await client.create(deployment())
        created = await _measured(client, running)
        image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}}
        await client.patch(Deployment, "web", image, "default")
        rolled = await _measured(client, running)
    finally:
        await client.close()
    return [
        Figure(f"Deployment of {PODS} pods, POST to all available", created[0], "s"),
        Figure("  CPU time", created[1], "s"),
        Figure("the same rolled out to another image", rolled[0], "s", goal=15),
        Figure("  CPU time", rolled[1], "s"),
    ]


def deployment() -> Deployment:
    plain: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "main", "image": "web:1"}],
                },
            },
        },
    }
    return msgspec.convert(plain, Deployment)


async def _measured(client: HttpClient, running: BenchCluster) -> tuple[float, float]:
    """Return the wall and CPU seconds until every pod is of the newest template and available."""
    start, used = time.perf_counter(), cpu_seconds(running.pid)
    async with asyncio.timeout(DEADLINE_SECONDS):
        held = await client.get(Deployment, "web", "default")
        async for event in client.watch(
            Deployment, "default", resource_version=held.metadata.resource_version or "0"
        ):
            if is_done(event.object):
                break
    return time.perf_counter() - start, cpu_seconds(running.pid) - used


def is_done(held: Deployment) -> bool:
    status = held.status
    numbers = (status.replicas, status.updated_replicas, status.available_replicas)
    seen = (status.observed_generation or 0) >= (held.metadata.generation or 0)
    return seen and numbers == (PODS, PODS, PODS)


if __name__ == "__main__":
    main()
