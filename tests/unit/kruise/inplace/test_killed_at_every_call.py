"""Controllers or the kubelet killed at a call of theirs while a CloneSet is updated in place.

Each life is played once undisturbed, which counts the calls, and then repeatedly with a kill at one of them
(``killed_controllers``).
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from podling.api.core_v1 import Pod
from podling.machinery.pods import is_ready
from podling.runtime.base import ContainerState
from podling.sim import loop
from podling.testing import memory_cluster
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise, gate, manifest, template
from tests.support.killed_controllers import AWAY_SECONDS, failures_of_kills, killed_controllers
from tests.support.killed_kubelet import Line, killed_node

PODS = 2
ROLLING = {"podUpdatePolicy": "InPlaceOnly", "maxUnavailable": 1}

Act = Callable[[Kruise], Awaitable[None]]


async def forward(cluster: Kruise) -> None:
    await cluster.patch("v1beta1", template=template("web:2"))


async def forward_and_back(cluster: Kruise) -> None:
    """Change the image back when the first pod has got the new one."""
    stream = cluster.plane.client.watch(Pod, "default", resource_version="")
    await forward(cluster)
    async for event in stream:
        if event.object.spec.containers[0].image == "web:2":
            break
    await cluster.patch("v1beta1", template=template("web:1"))


def configured(value: str) -> dict[str, Any]:
    """Return a template whose container reads an annotation."""
    source = {"fieldRef": {"fieldPath": "metadata.annotations['app-config']"}}
    containers = [{"name": "main", "image": "web:1", "env": [{"name": "CONFIG", "valueFrom": source}]}]
    made = template(containers=containers)
    made["metadata"]["annotations"] = {"app-config": value}
    return made


async def renew_environment(cluster: Kruise) -> None:
    await cluster.patch("v1beta1", template=configured("two"))


class Life(Struct, frozen=True):
    act: Act
    image: str
    """The image in the end."""
    before: dict[str, Any] = field(default_factory=template)
    environment: str = ""
    """The value of the variable in the end."""


LIVES = {
    "updated": Life(forward, "web:2"),
    "taken back": Life(forward_and_back, "web:1"),
    "environment": Life(renew_environment, "web:1", configured("one"), "two"),
}


async def play(victim: str, life: Life, line: Line, root: Path) -> None:
    kubelet, others = (line, Line()) if victim == "kubelet" else (Line(), line)
    async with (
        memory_cluster(extensions=[KruiseExtension()]) as plane,
        killed_node(plane, root, kubelet, node_controllers=KruiseExtension().node_controllers()) as killed,
        killed_controllers(plane, others, KruiseExtension().controllers().values()),
    ):
        cluster, problems = Kruise(plane, killed.node), list[str]()
        watching = asyncio.create_task(watch_node(killed.node.runtime, problems))
        replacing = asyncio.create_task(killed.replace_when_cut(AWAY_SECONDS))
        await cluster.create(
            manifest(
                "v1beta1", replicas=PODS, updateStrategy={"rollingUpdate": ROLLING}, template=life.before
            )
        )
        await cluster.wait(20)
        before = {pod.metadata.name: pod for pod in await cluster.pods()}
        assert len(before) == PODS
        line.counts = True
        await life.act(cluster)
        await cluster.wait(20)
        line.counts = False
        await cluster.wait(60)
        for task in (watching, replacing):
            task.cancel()
        await asyncio.gather(watching, replacing, return_exceptions=True)
        assert problems == []
        await judge(cluster, before, life)


async def watch_node(runtime: Any, problems: list[str]) -> None:
    """Note containers that run twice at the same time."""
    async for _ in runtime.events():
        found = await runtime.list_containers()
        living = Counter(
            (each.sandbox_id, each.name) for each in found if each.state is ContainerState.RUNNING
        )
        problems += [f"{name} runs {number} times" for name, number in living.items() if number > 1]


async def environments(cluster: Kruise) -> set[str]:
    """Return the values that running containers have of the variable."""
    running = [
        each for each in await cluster.node.runtime.list_containers() if each.state is ContainerState.RUNNING
    ]
    texts = [each.annotations.get("podling.dev/metadata-environment", "{}") for each in running]
    return {json.loads(text).get("CONFIG", "") for text in texts}


async def judge(cluster: Kruise, before: Mapping[Any, Pod], life: Life) -> None:
    after = {pod.metadata.name: pod for pod in await cluster.pods()}
    assert after.keys() == before.keys()
    for name, pod in after.items():
        old = before[name]
        assert (pod.metadata.uid, pod.status.pod_ip) == (old.metadata.uid, old.status.pod_ip)
        shown = pod.status.container_statuses[0]
        assert (pod.spec.containers[0].image, shown.image) == (life.image, life.image)
        held = gate(pod)
        assert held is not None
        assert held.status == "True"
        assert is_ready(pod)
        # A container that was created and never ran counts as an attempt, as it does in Kubernetes.
        assert shown.restart_count <= (2 if life.image == "web:2" else 3)
    assert await environments(cluster) == {life.environment}
    status = (await cluster.get()).status
    assert (status.updated_ready_replicas, status.ready_replicas) == (PODS, PODS)


def run(victim: str, life: Life, line: Line) -> int:
    """Play a life on virtual time; return the number of the victim's calls."""
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(victim, life, line, Path(directory)))
    return line.calls


@pytest.mark.parametrize("victim", ["controllers", "kubelet"])
@pytest.mark.parametrize("name", LIVES)
def test_update_survives_a_kill_at_any_call(name: str, victim: str) -> None:
    calls, failures = failures_of_kills(partial(run, victim, LIVES[name]))
    assert calls > 2 * PODS
    assert not failures, "\n".join(failures)
