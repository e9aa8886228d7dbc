"""A kubelet that is killed at any of its calls, and a new one that takes over without visible effects.

Each life is played once undisturbed, which counts the kubelet's calls, and then repeatedly with the kubelet
killed at one of them. ``PODLING_KILL_POINTS`` sets the number of calls of each life at which it is killed
(10; ``0``: every one, before and after it, which takes some minutes).
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import EphemeralContainer, Pod
from podling.client.base import PatchType, WatchEventType
from podling.runtime.base import Container, ContainerEventType, ContainerState
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.killed_kubelet import KilledNode, Line, killed_node
from tests.support.kubelet_node import SimNode, condition, pod

POINTS = int(os.environ.get("PODLING_KILL_POINTS", "10"))
GRACE = 7
AWAY_SECONDS = (0.0, 3.0, 15.0)
"""The seconds without a kubelet."""


WATCHED_SECONDS = 15.0
SETTLE_SECONDS = 60.0
PROBE = {"exec": {"command": ["probe"]}, "periodSeconds": 2, "failureThreshold": 1}
HOOK = {"preStop": {"exec": {"command": ["pre-stop"]}}}
Act = Callable[[SimNode], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Life:
    """One pod's life.

    Args:
        runs: how often each container runs, in all.
        act: the change of the pod once it is Ready, and ``seconds`` old.
        phase: its last phase.
        steady: once Ready, it is Ready until it is deleted.
        hooks: it has a ``preStop`` hook of three seconds.
    """

    subject: Pod
    runs: Mapping[str, int]
    act: Act | None = None
    seconds: float = 5.0
    phase: str = "Running"
    steady: bool = True
    hooks: bool = False


async def delete(node: SimNode) -> None:
    await node.delete()


async def lose_sandbox(node: SimNode) -> None:
    for sandbox in await node.runtime.list_sandboxes():
        await node.runtime.stop_sandbox(sandbox.id)


async def crash(node: SimNode) -> None:
    (container,) = [held for held in await node.runtime.list_containers() if held.started_at is not None]
    node.runtime.end(container.id, 1)


async def resize(node: SimNode) -> None:
    amounts = {"cpu": "2", "memory": "2Gi"}
    containers = [{"name": "app", "resources": {"requests": amounts, "limits": amounts}}]
    patch = {"spec": {"containers": containers}}
    kind = PatchType.STRATEGIC
    await node.client.patch(Pod, "web", patch, "default", patch_type=kind, subresource="resize")


async def add_guest(node: SimNode) -> None:
    found = await node.get()
    guest = EphemeralContainer(name="guest", image="guest:1")
    spec = structs.replace(found.spec, ephemeral_containers=(guest,))
    await node.client.update(structs.replace(found, spec=spec), subresource="ephemeralcontainers")


async def change_image(node: SimNode) -> None:
    patch = {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)


async def change_image_in_vain(node: SimNode) -> None:
    patch = {"spec": {"containers": [{"name": "app", "image": "No Image"}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)


async def change_image_and_back(node: SimNode) -> None:
    await change_image_in_vain(node)
    await clock.sleep(3)
    patch = {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)


def once(seconds: float, code: int = 0) -> dict[str, Any]:
    return {"startSeconds": 0.5, "runs": [{"seconds": seconds, "exitCode": code}]}


def app(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", **more}]


def init(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "init:1", **more}


SIZED = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
SERVING = {"startSeconds": 0.5}
LIVES = {
    "once": Life(
        subject=pod(script=once(3), restartPolicy="Never"), runs={"app": 1}, phase="Succeeded", steady=False
    ),
    "failing once": Life(
        subject=pod(script=once(3, 5), restartPolicy="Never"), runs={"app": 1}, phase="Failed", steady=False
    ),
    "crashing": Life(subject=pod(script=SERVING), runs={"app": 2}, act=crash, steady=False),
    "serving": Life(
        subject=pod(
            containers=app(startupProbe=PROBE, livenessProbe=PROBE, readinessProbe=PROBE),
            initContainers=[init("one"), init("two")],
            scripts={"one": once(1), "two": once(1), "app": SERVING},
        ),
        runs={"one": 1, "two": 1, "app": 1},
    ),
    "sidecar": Life(
        subject=pod(
            initContainers=[init("side", restartPolicy="Always", startupProbe=PROBE), init("prepare")],
            scripts={"prepare": once(1), "app": once(4), "side": SERVING},
            restartPolicy="Never",
        ),
        runs={"side": 1, "prepare": 1, "app": 1},
        phase="Succeeded",
        steady=False,
    ),
    "leaving": Life(
        subject=pod(script={"ignoresSignals": True}, terminationGracePeriodSeconds=GRACE),
        runs={"app": 1},
        act=delete,
        phase="gone",
    ),
    "hooked": Life(
        subject=pod(
            script={"exec": [{"command": "pre-stop", "seconds": 3}]},
            containers=app(lifecycle=HOOK),
            terminationGracePeriodSeconds=GRACE,
        ),
        runs={"app": 1},
        act=delete,
        phase="gone",
        hooks=True,
    ),
    "resized": Life(
        subject=pod(containers=app(resources=SIZED, readinessProbe=PROBE)),
        runs={"app": 1},
        act=resize,
    ),
    "visited": Life(
        subject=pod(containers=app(readinessProbe=PROBE), scripts={"guest": once(3)}),
        runs={"app": 1, "guest": 1},
        act=add_guest,
    ),
    "without its sandbox": Life(
        subject=pod(initContainers=[init("one")], scripts={"one": once(1), "app": SERVING}),
        runs={"one": 2, "app": 2},
        act=lose_sandbox,
        steady=False,
    ),
    "changed": Life(subject=pod(), runs={"app": 2}, act=change_image, steady=False),
    "changed in vain": Life(subject=pod(), runs={"app": 1}, act=change_image_in_vain),
    "changed and back": Life(subject=pod(), runs={"app": 1}, act=change_image_and_back),
    "out of time": Life(
        subject=pod(activeDeadlineSeconds=8, terminationGracePeriodSeconds=GRACE),
        runs={"app": 1},
        phase="Failed",
        steady=False,
    ),
}


@dataclass
class Witness:
    """Records the containers on the node, and all versions of the pod in the API."""

    node: SimNode
    life: Life
    started: Counter[str] = field(default_factory=Counter)
    ended_at: float = 0.0
    deleted_at: float = 0.0
    again_at: float = 0.0
    problems: list[str] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    _last: Pod | None = None

    async def watch_node(self) -> None:
        async for event in self.node.runtime.events():
            found = {held.id: held for held in await self.node.runtime.list_containers()}
            if event.type is ContainerEventType.EXITED:
                self.ended_at = clock.monotonic()
            self._count_living(found.values())

    def _count_living(self, containers: Any) -> None:
        living = Counter(held.name for held in containers if held.state is ContainerState.RUNNING)
        self.problems += [f"{name} runs {number} times" for name, number in living.items() if number > 1]

    async def watch_api(self) -> None:
        client = self.node.client
        listing = await client.list(Pod, "default")
        async for event in client.watch(Pod, "default", resource_version=listing.resource_version):
            if event.type not in (WatchEventType.BOOKMARK, WatchEventType.DELETED):
                self._see(event.object)

    def _see(self, found: Pod) -> None:
        before, self._last = self._last, found
        if condition(found, "Ready") == "True":
            self.ready.set()
        if before is None:
            return
        old, new = before.status, found.status
        if old.phase in ("Succeeded", "Failed") and new.phase != old.phase:
            self.problems.append(f"from {old.phase} to {new.phase}")
        if old.start_time not in (None, new.start_time):
            self.problems.append("the start time moved")
        counts = {held.name: held.restart_count for held in old.container_statuses}
        if any(held.restart_count < counts.get(held.name, 0) for held in new.container_statuses):
            self.problems.append("a restart count fell")
        ended = new.phase in ("Succeeded", "Failed") or found.metadata.deletion_timestamp is not None
        lost = condition(before, "Ready") == "True" and condition(found, "Ready") != "True"
        if self.life.steady and lost and not ended:
            self.problems.append("Ready flapped")


async def play(life: Life, line: Line, away: float, root: Path) -> None:
    """Play one life; raise ``AssertionError`` for any visible effect of the kill."""
    async with memory_cluster() as plane, killed_node(plane, root, line) as killed:
        node = killed.node
        witness = Witness(node, life)
        watchers = [asyncio.create_task(witness.watch_node()), asyncio.create_task(witness.watch_api())]
        hooks = _count(node, witness.started)
        fault = asyncio.create_task(_cut(killed, witness, away))
        await clock.sleep(0)
        line.counts = True
        await node.create(life.subject)
        await clock.sleep(life.seconds)
        if life.act is not None:
            await witness.ready.wait()
            witness.deleted_at = clock.monotonic()
            await life.act(node)
        await clock.sleep(WATCHED_SECONDS)
        line.counts = False
        await clock.sleep(SETTLE_SECONDS)
        await _judge(life, witness, hooks)
        await _clear(life, node)
        for task in (fault, *watchers):
            task.cancel()
        await asyncio.gather(fault, *watchers, return_exceptions=True)


async def _cut(killed: KilledNode, witness: Witness, away: float) -> None:
    await killed.replace_when_cut(away)
    witness.again_at = clock.monotonic()


def _count(node: SimNode, started: Counter[str]) -> Counter[str]:
    """Count the started containers; return the commands that run in them."""
    commands: Counter[str] = Counter()
    truly, start = node.runtime.exec, node.runtime.start_container

    async def started_one(container_id: str) -> None:
        await start(container_id)
        started[(await node.runtime.container_status(container_id)).name] += 1

    async def counted(container_id: str, command: Any, *args: Any, **named: Any) -> int:
        commands[" ".join(command)] += 1
        return await truly(container_id, command, *args, **named)

    node.runtime.exec = counted  # type: ignore[method-assign]
    node.runtime.start_container = started_one  # type: ignore[method-assign]
    return commands


async def _judge(life: Life, witness: Witness, hooks: Counter[str]) -> None:
    assert witness.problems == []
    assert dict(witness.started) == dict(life.runs), "a container ran too often, or not often enough"
    if life.phase == "gone":
        assert not await witness.node.exists()
        graceful = witness.deleted_at + (3.0 if life.hooks else GRACE)
        latest = max(graceful, witness.again_at + (3.0 if life.hooks else 0.0)) + 2.5
        assert graceful - 0.001 <= witness.ended_at <= latest, "the grace period is not as it should be"
        if life.hooks:
            late = witness.again_at > witness.deleted_at + GRACE  # then no time is left for a hook
            assert hooks["pre-stop"] in ((0, 1, 2) if late else (1, 2))
        return
    found = await witness.node.get()
    assert found.status.phase == life.phase
    for status in (*found.status.init_container_statuses, *found.status.container_statuses):
        runs = life.runs[status.name]
        # A container that was created and never ran counts as an attempt, as it does in Kubernetes.
        assert status.restart_count <= runs, status
    for status in found.status.container_statuses:
        assert status.restart_count >= life.runs[status.name] - 1, status
    if life.phase == "Running":
        assert condition(found, "Ready") == "True"


async def _clear(life: Life, node: SimNode) -> None:
    """Delete the pod, and check that nothing of it is left."""
    if life.phase != "gone":
        await node.delete(grace_seconds=1)
        await clock.sleep(8)
        assert not await node.exists()
    left: list[Container | Any] = [
        *await node.runtime.list_containers(),
        *await node.runtime.list_sandboxes(),
    ]
    assert left == []


def run(life: Life, line: Line, away: float = 0.0) -> int:
    """Play a life on virtual time; return the number of the first kubelet's calls."""
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(life, line, away, Path(directory)))
    return line.calls


def points(calls: int, name: str) -> Iterator[tuple[int, bool, float]]:
    """Yield where to kill the kubelet: the call, True for after it, and the seconds without a kubelet."""
    every = [(at, after) for at in range(1, calls + 1) for after in (False, True)]
    step = max(1, len(every) // POINTS) if POINTS else 1
    first = len(json.dumps(name)) % step
    for number, (at, after) in enumerate(every[first::step]):
        yield at, after, AWAY_SECONDS[number % len(AWAY_SECONDS)]


@pytest.mark.parametrize("name", LIVES)
def test_kubelet_killed_at_any_call_leaves_no_trace(name: str) -> None:
    life = LIVES[name]
    calls = run(life, Line())
    assert calls > len(life.runs)
    failures = []
    for at, after, away in points(calls, name):
        try:
            run(life, Line(at, after=after), away)
        except AssertionError as error:
            failures.append(f"cut {'after' if after else 'before'} call {at}, away {away:g} s: {error}")
    assert not failures, "\n".join(failures)
