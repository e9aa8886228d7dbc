"""OpenKruise's in-place updates: beside new pods on real containers, and of a thousand simulated pods."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.harness import PODLING, BenchCluster, Figure, cluster, show
from podling.api.core_v1 import Pod
from podling.client.http import HttpClient
from podling.machinery.encoding import codec
from podling.machinery.pods import is_ready
from podling_kruise.cloneset.types import CloneSet

UPDATES = 20
PODS = 1000
SERVE = "trap 'exit 0' TERM; sleep infinity & wait"
"""The command of a container that runs until SIGTERM and ends at once."""
TAGS = ("bench.test/web:1", "bench.test/web:2")


def main() -> None:
    with cluster("--runtime", "oci", "--with", "kruise") as running:
        load_images(running)
        figures = asyncio.run(measure_containers(running))
    with cluster("--runtime", "sim", "--nodes", "10", "--with", "kruise") as running:
        figures += asyncio.run(measure_simulated(running))
    show(figures)


def load_images(running: BenchCluster) -> None:
    """Load two images of the machine's busybox that differ in their configuration."""
    from tests.support.images import busybox_archive

    with tempfile.TemporaryDirectory() as folder:
        for tag in TAGS:
            archive = busybox_archive(Path(folder) / "image.tar", tag, env={"TAG": tag})
            command = [*PODLING, "image", "load", "--data-dir", str(running.data_directory), str(archive)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


async def measure_containers(running: BenchCluster) -> list[Figure]:
    """Return the time of an update in place beside that of an update by a new pod: medians, in turns."""
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    in_place: list[float] = []
    recreated: list[float] = []
    try:
        for name in ("InPlaceIfPossible", "ReCreate"):
            await client.create(clone_set(name.lower(), 1, TAGS[0], name))
            await all_updated(client, name.lower(), TAGS[0], 1)
        for number in range(UPDATES):
            tag = TAGS[(number + 1) % 2]
            in_place.append(await update(client, "inplaceifpossible", tag, 1))
            recreated.append(await update(client, "recreate", tag, 1))
    finally:
        await client.close()
    return [
        Figure(
            f"image updated in place, p50 of {UPDATES}",
            statistics.median(in_place) * 1e3,
            "ms",
            statistics.median(recreated) * 1e3,
            "recreating the pod",
            0.4,
        )
    ]


async def measure_simulated(running: BenchCluster) -> list[Figure]:
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        await client.create(clone_set("many", PODS, TAGS[0], "InPlaceOnly"))
        await all_updated(client, "many", TAGS[0], PODS)
        seconds = await update(client, "many", TAGS[1], PODS)
    finally:
        await client.close()
    return [Figure(f"CloneSet of {PODS} simulated pods updated in place", seconds, "s", goal=10)]


def clone_set(name: str, replicas: int, image: str, policy: str) -> Any:
    rolling = {"podUpdatePolicy": policy, "maxUnavailable": "20%"}
    plain: dict[str, Any] = {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "CloneSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, image),
            "updateStrategy": {"rollingUpdate": rolling},
        },
    }
    return codec.from_plain(plain, CloneSet.custom_resource.type)


def template(name: str, image: str) -> Mapping[str, Any]:
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", SERVE],
    }
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


async def update(client: HttpClient, name: str, image: str, replicas: int) -> float:
    """Change the image, and return the seconds until all pods are Ready with it."""
    start = time.perf_counter()
    patch = {"spec": {"template": template(name, image)}}
    await client.patch(CloneSet.custom_resource.type, name, patch, "default")
    await all_updated(client, name, image, replicas)
    return time.perf_counter() - start


async def all_updated(client: HttpClient, name: str, image: str, replicas: int) -> None:
    """Follow the pods until all of them are Ready with an image."""
    listed = await client.list(Pod, "default", label_selector=f"app={name}")
    ready = {pod.metadata.name: _is_updated(pod, image) for pod in listed.items}
    if sum(ready.values()) == replicas:
        return
    stream = client.watch(
        Pod, "default", resource_version=listed.resource_version, label_selector=f"app={name}"
    )
    async for event in stream:
        ready[event.object.metadata.name] = event.type.value != "DELETED" and _is_updated(event.object, image)
        if sum(ready.values()) == replicas:
            return


def _is_updated(pod: Pod, image: str) -> bool:
    living = pod.metadata.deletion_timestamp is None
    return living and is_ready(pod) and pod.spec.containers[0].image == image


if __name__ == "__main__":
    main()
