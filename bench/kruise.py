"""OpenKruise's in-place updates, on real containers and of a thousand simulated pods, and injections."""

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
from podling.client.base import WatchEventType
from podling.client.http import HttpClient
from podling.machinery.encoding import codec
from podling.machinery.pods import is_ready
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.sidecarset.types import SidecarSet

UPDATES = 20
REST_SECONDS = 0.3
"""The pause before each update, in which what the one before still writes (events, statuses) ends."""
INJECTIONS = 5000
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
    with cluster("--runtime", "sim", "--nodes", "1", "--with", "kruise") as running:
        figures += asyncio.run(measure_injections(running))
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
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        return [
            await compare(client, "plain", "of a pod with one container", 0),
            await compare(client, "usual", "of a pod with init container and two sidecars", 2),
        ]
    finally:
        await client.close()


async def compare(client: HttpClient, name: str, what: str, sidecars: int) -> Figure:
    """Return the time of an update in place beside that of an update by a new pod: medians, in turns.

    Each begins at rest, and ends when the changed pod is Ready, and the old container, or pod, is gone.
    """
    in_place: list[float] = []
    recreated: list[float] = []
    names = {policy: f"{name}-{policy.lower()}" for policy in ("InPlaceIfPossible", "ReCreate")}
    for policy, each in names.items():
        await client.create(clone_set(each, 1, TAGS[0], policy, sidecars))
        await all_updated(client, each, TAGS[0], 1)
    for number in range(UPDATES):
        tag = TAGS[(number + 1) % 2]
        for policy, taken in (("InPlaceIfPossible", in_place), ("ReCreate", recreated)):
            await asyncio.sleep(REST_SECONDS)
            taken.append(await update(client, names[policy], tag, 1, sidecars))
    return Figure(
        f"image updated in place, {what}, p50 of {UPDATES}",
        statistics.median(in_place) * 1e3,
        "ms",
        statistics.median(recreated) * 1e3,
        "recreating the pod",
        0.4,
    )


async def measure_simulated(running: BenchCluster) -> list[Figure]:
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    try:
        await client.create(clone_set("many", PODS, TAGS[0], "InPlaceOnly"))
        await all_updated(client, "many", TAGS[0], PODS)
        seconds = await update(client, "many", TAGS[1], PODS)
    finally:
        await client.close()
    return [Figure(f"CloneSet of {PODS} simulated pods updated in place", seconds, "s", goal=10)]


async def measure_injections(running: BenchCluster) -> list[Figure]:
    """Return the time of creating a pod with an injected sidecar beside that of one without, in turns."""
    client = HttpClient.from_kubeconfig(running.kubeconfig)
    taken: dict[str, list[float]] = {"plain": [], "injected": []}
    try:
        await client.create(sidecar_set())
        for number in range(INJECTIONS):
            for app, found in taken.items():
                pod = gated_pod(f"{app}-{number}", app)
                start = time.perf_counter()
                await client.create(pod)
                found.append(time.perf_counter() - start)
    finally:
        await client.close()
    plain, injected = (statistics.median(found) * 1e3 for found in taken.values())
    return [
        Figure(f"pod created with a sidecar, p50 of {INJECTIONS}", injected, "ms", plain, "without", 1.15)
    ]


def sidecar_set() -> Any:
    """Return a SidecarSet with one container and a volume."""
    container = {"name": "agent", "image": TAGS[0], "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}
    spec = {
        "selector": {"matchLabels": {"app": "injected"}},
        "containers": [container],
        "volumes": [{"name": "logs", "emptyDir": {}}],
    }
    plain = {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "SidecarSet",
        "metadata": {"name": "agent"},
        "spec": spec,
    }
    return codec.from_plain(plain, SidecarSet.custom_resource.type)


def gated_pod(name: str, app: str) -> Pod:
    """Return a pod that no scheduler takes, so that nothing but its creation is measured."""
    spec = {
        "containers": [{"name": "main", "image": TAGS[0]}],
        "schedulingGates": [{"name": "bench.test/hold"}],
    }
    metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
    return codec.from_plain({"metadata": metadata, "spec": spec}, Pod)


def clone_set(name: str, replicas: int, image: str, policy: str, sidecars: int = 0) -> Any:
    rolling = {"podUpdatePolicy": policy, "maxUnavailable": "20%"}
    plain: dict[str, Any] = {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "CloneSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, image, sidecars),
            "updateStrategy": {"rollingUpdate": rolling},
        },
    }
    return codec.from_plain(plain, CloneSet.custom_resource.type)


def template(name: str, image: str, sidecars: int) -> Mapping[str, Any]:
    """Return a template whose container ``main`` has the image. Sidecars have an init container, too."""
    main = container("main", image, SERVE)
    others = [container(f"sidecar-{number}", TAGS[0], SERVE) for number in range(sidecars)]
    spec = {"terminationGracePeriodSeconds": 1, "containers": [main, *others]}
    if sidecars:
        spec["initContainers"] = [container("prepare", TAGS[0], "true")]
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def container(name: str, image: str, command: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
    }


async def update(client: HttpClient, name: str, image: str, replicas: int, sidecars: int = 0) -> float:
    """Change the image, and return the seconds until all pods are Ready with it."""
    start = time.perf_counter()
    patch = {"spec": {"template": template(name, image, sidecars)}}
    await client.patch(CloneSet.custom_resource.type, name, patch, "default")
    await all_updated(client, name, image, replicas)
    return time.perf_counter() - start


async def all_updated(client: HttpClient, name: str, image: str, replicas: int) -> None:
    """Follow the pods until all of them are Ready with an image, and no others are left."""
    listed = await client.list(Pod, "default", label_selector=f"app={name}")
    ready = {pod.metadata.name: _is_updated(pod, image) for pod in listed.items}
    if len(ready) == replicas and all(ready.values()):
        return
    stream = client.watch(
        Pod, "default", resource_version=listed.resource_version, label_selector=f"app={name}"
    )
    waiting = {name for name, is_ready in ready.items() if not is_ready}
    async for event in stream:
        found = event.object.metadata.name
        ready[found] = _is_updated(event.object, image)
        if event.type is WatchEventType.DELETED:
            del ready[found]
        if ready.get(found, True):
            waiting.discard(found)
        else:
            waiting.add(found)
        if len(ready) == replicas and not waiting:
            return


def _is_updated(pod: Pod, image: str) -> bool:
    living = pod.metadata.deletion_timestamp is None
    return living and is_ready(pod) and pod.spec.containers[0].image == image


if __name__ == "__main__":
    main()
