"""Controllers or the kubelet killed at a call of theirs while a container is recreated by request."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest

from podling.machinery.pods import is_ready
from podling.runtime.base import ContainerEventType, ContainerState
from podling.sim import loop
from podling.testing import memory_cluster
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise
from tests.support.killed_controllers import AWAY_SECONDS, failures_of_kills, killed_controllers
from tests.support.killed_kubelet import Line, killed_node
from tests.support.kubelet_node import pod
from tests.support.recreate_requests import recreate, request_of, states, statuses

GATE = [{"conditionType": "KruisePodReady"}]
CONTAINERS: list[dict[str, Any]] = [
    {"name": "app", "image": "app:1", "lifecycle": {"preStop": {"sleep": {"seconds": 2}}}},
    {"name": "beside", "image": "beside:1"},
]
STRATEGIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "forced": {"forceRecreate": True},
    "not ready before": {"unreadyGracePeriodSeconds": 2},
}


async def play(victim: str, strategy: dict[str, Any], line: Line, root: Path) -> None:
    kubelet, others = (line, Line()) if victim == "kubelet" else (Line(), line)
    extension = KruiseExtension()
    async with (
        memory_cluster(extensions=[extension]) as plane,
        killed_node(plane, root, kubelet, node_controllers=extension.node_controllers()) as killed,
        killed_controllers(plane, others, extension.controllers().values()),
    ):
        cluster, problems = Kruise(plane, killed.node), list[str]()
        watching = asyncio.create_task(note_doubles(killed.node.runtime, problems))
        ended: list[str] = []
        noting = asyncio.create_task(note_ends(killed.node.runtime, ended))
        replacing = asyncio.create_task(killed.replace_when_cut(AWAY_SECONDS))
        await killed.node.create(pod(containers=CONTAINERS, readinessGates=GATE))
        await cluster.wait(10)
        before = await killed.node.get()
        line.counts = True
        await cluster.client.create(recreate(strategy=strategy))
        await cluster.wait(10)
        line.counts = False
        await cluster.wait(50)
        for task in (watching, noting, replacing):
            task.cancel()
        await asyncio.gather(watching, noting, replacing, return_exceptions=True)
        assert problems == []
        after, request = await killed.node.get(), await request_of(cluster)
        old, new = statuses(before), statuses(after)
        assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
        assert new["beside"] == old["beside"]
        assert is_ready(after)
        assert (request.status.phase, request.status.message) == ("Completed", "")
        assert states(request)["app"][0] == "Succeeded"
        # A container that was created and never ran counts as an attempt, as it does in Kubernetes.
        assert new["app"].restart_count in (1, 2)
        assert len(set(ended)) == 1


async def note_doubles(runtime: Any, problems: list[str]) -> None:
    """Note containers that run twice at the same time."""
    async for _ in runtime.events():
        found = await runtime.list_containers()
        names = [(each.sandbox_id, each.name) for each in found if each.state is ContainerState.RUNNING]
        problems += [f"{name} runs twice" for _, name in set(names) if len(names) > len(set(names))]


async def note_ends(runtime: Any, ended: list[str]) -> None:
    """Note the containers that end, by their IDs."""
    async for event in runtime.events():
        if event.type is ContainerEventType.EXITED:
            ended.append(event.container_id)


def run(victim: str, strategy: dict[str, Any], line: Line) -> int:
    """Play the life on virtual time; return the number of the victim's calls."""
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(victim, strategy, line, Path(directory)))
    return line.calls


@pytest.mark.parametrize("victim", ["controllers", "kubelet"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_container_is_recreated_once_after_a_kill_at_any_call(name: str, victim: str) -> None:
    strategy = STRATEGIES[name]
    calls, failures = failures_of_kills(lambda line: run(victim, strategy, line))
    assert calls > 1
    assert not failures, "\n".join(failures)
