"""Pods on real containers: one at a time, and fifty at once, beside ``crun run`` of the same container.

The rate of fifty has no floor of its own: on a busy machine ``crun run`` takes
longer, too, so compare a low rate with that time.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import msgspec

from bench.harness import BenchCluster, Figure, cluster, show
from bench.runtime import bare_run_floor
from podling.api.core_v1 import Pod
from podling.client.http import HttpClient

ONE_BY_ONE = 20
AT_ONCE = 50
SERVE = "trap 'exit 0' TERM; sleep infinity & wait"
"""The command of a container that runs until SIGTERM and ends at once."""


def main() -> None:
    floor = bare_run_floor()
    with cluster("--runtime", "oci") as running:
        figures = asyncio.run(measure(running, floor))
    show(figures)


async def measure(running: BenchCluster, floor: float) -> list[Figure]:
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        await start_pod(client, "warm-up")
        singles = [await start_pod(client, f"single-{number}") for number in range(ONE_BY_ONE)]
        gone = [await delete_pod(client, f"single-{number}") for number in range(ONE_BY_ONE)]
        start = time.perf_counter()
        await asyncio.gather(*(start_pod(client, f"burst-{number}") for number in range(AT_ONCE)))
        rate = AT_ONCE / (time.perf_counter() - start)
    finally:
        await client.close()
    return [
        Figure(
            "one pod, POST to Ready, p50 of 20",
            statistics.median(singles) * 1e3,
            "ms",
            floor * 1e3,
            "crun run",
            6,
        ),
        Figure("fifty pods at once", rate, "pods/s", goal=20, more_is_better=True),
        Figure("deleted, process exits at once, to gone: p50", statistics.median(gone) * 1e3, "ms"),
        Figure("  the slowest of 20", max(gone) * 1e3, "ms", goal=300),
    ]


def pod(name: str) -> Pod:
    plain: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {"name": "main", "image": "podling.local/host", "command": ["sh", "-c", SERVE]},
            ],
        },
    }
    return msgspec.convert(plain, Pod)


async def start_pod(client: HttpClient, name: str) -> float:
    """Return the seconds from the POST to the watch event that shows the pod Ready."""
    start = time.perf_counter()
    created = await client.create(pod(name))
    version = created.metadata.resource_version or ""
    async for event in client.watch(
        Pod, "default", resource_version=version, field_selector=f"metadata.name={name}"
    ):
        if any(item.type == "Ready" and item.status == "True" for item in event.object.status.conditions):
            break
    return time.perf_counter() - start


async def delete_pod(client: HttpClient, name: str) -> float:
    """Return the seconds from the DELETE to the watch event of the pod's deletion."""
    current = await client.get(Pod, name, "default")
    start = time.perf_counter()
    await client.delete(Pod, name, "default")
    async for event in client.watch(
        Pod,
        "default",
        resource_version=current.metadata.resource_version or "",
        field_selector=f"metadata.name={name}",
    ):
        if event.type.value == "DELETED":
            break
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
