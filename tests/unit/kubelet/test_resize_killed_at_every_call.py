"""A kubelet that is killed at any of its calls while it resizes a pod in place, and a new one that goes on.

At the end the allocation in the pod's status, the resources in it, and the limits of the container and of the
pod as a whole are the same, and no resize is in progress. Every life is played with the kubelet killed before
and after each of its calls from the resize on.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import PatchType
from podling.machinery.quantity import milli_value, value
from podling.runtime.base import ContainerState, LinuxResources, Sandbox, SandboxSpec
from podling.runtime.sim import SimRuntime
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.killed_kubelet import Line, killed_node
from tests.support.kubelet_node import SimNode, condition, pod

SETTLE_SECONDS = 30.0
AWAY_SECONDS = (0.0, 15.0)
"""The seconds without a kubelet."""

Amounts = tuple[str, str]
"""CPU and memory: the container's requests, and its limits."""
Act = Callable[[SimNode], Awaitable[None]]


class Machine(SimRuntime):
    """A runtime with limits of each pod as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.whole: dict[str, LinuxResources] = {}
        """By sandbox."""
        self.starts: Counter[str] = Counter()
        """By sandbox."""

    async def start_container(self, container_id: str) -> None:
        await super().start_container(container_id)
        self.starts[(await self.container_status(container_id)).sandbox_id] += 1

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        sandbox = await super().run_sandbox(spec)
        self.whole[sandbox.id] = spec.resources
        return sandbox

    async def update_sandbox_resources(self, sandbox_id: str, resources: LinuxResources) -> None:
        given = {name: found for name, found in structs.asdict(resources).items() if found is not None}
        self.whole[sandbox_id] = structs.replace(self.whole[sandbox_id], **given)


def of_size(name: str, amounts: Amounts, *restarts: str) -> Pod:
    """Return a pod of this size. A change of the resources in ``restarts`` restarts its container."""
    cpu, memory = amounts
    resources = {"cpu": cpu, "memory": memory}
    policy = [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in restarts]
    container = {
        "name": "app",
        "image": "app:1",
        "resources": {"requests": resources, "limits": resources},
        "resizePolicy": policy,
    }
    return pod(name, containers=[container])


def resize(*sizes: Amounts, pause: float = 0.0) -> Act:
    """Return the act of resizing the pod to each of ``sizes``, with a pause before all but the first."""

    async def act(node: SimNode) -> None:
        for number, (cpu, memory) in enumerate(sizes):
            await clock.sleep(pause if number else 0)
            amounts = {"cpu": cpu, "memory": memory}
            patch = {
                "spec": {
                    "containers": [{"name": "app", "resources": {"requests": amounts, "limits": amounts}}]
                }
            }
            kind = PatchType.STRATEGIC
            await node.client.patch(Pod, "web", patch, "default", patch_type=kind, subresource="resize")

    return act


async def resize_and_end_the_other(node: SimNode) -> None:
    await resize(("3", "1Gi"))(node)
    await clock.sleep(2)
    await node.delete("other", grace_seconds=1)


async def place_another(node: SimNode) -> None:
    await node.create(of_size("another", ("2", "1Gi")))


async def take_back(node: SimNode) -> None:
    await resize(("1", "1Gi"))(node)


@dataclass(frozen=True, kw_only=True)
class Life:
    """One pod's resize from ``before`` to one of the sizes ``after``.

    Args:
        restarts: how often its container is started again.
        other: the size of another pod on the node.
        meanwhile: what happens once the kubelet is killed.
    """

    before: Amounts = ("1", "1Gi")
    after: tuple[Amounts, ...]
    act: Act
    policy: tuple[str, ...] = ()
    restarts: int = 0
    other: Amounts | None = None
    meanwhile: Act | None = None


LIVES = {
    "grows": Life(after=(("2", "2Gi"),), act=resize(("2", "2Gi"))),
    "shrinks": Life(before=("2", "2Gi"), after=(("1", "1Gi"),), act=resize(("1", "1Gi"))),
    "grows and shrinks": Life(before=("1", "2Gi"), after=(("2", "1Gi"),), act=resize(("2", "1Gi"))),
    "grows with a restart": Life(
        after=(("2", "2Gi"),), act=resize(("2", "2Gi")), policy=("memory",), restarts=1
    ),
    "shrinks with a restart": Life(
        before=("2", "2Gi"), after=(("1", "1Gi"),), act=resize(("1", "1Gi")), policy=("cpu",), restarts=1
    ),
    "waits for another's end": Life(after=(("3", "1Gi"),), act=resize_and_end_the_other, other=("3", "1Gi")),
    "is changed again": Life(
        after=(("1500m", "3Gi"),), act=resize(("2", "2Gi"), ("1500m", "3Gi"), pause=0.002)
    ),
    "is taken back": Life(after=(("1", "1Gi"),), act=resize(("2", "2Gi"), ("1", "1Gi"), pause=0.002)),
    "is taken back without a kubelet": Life(
        after=(("1", "1Gi"), ("2", "2Gi")), act=resize(("2", "2Gi")), meanwhile=take_back
    ),
    "loses its place": Life(
        after=(("3", "2Gi"), ("1", "1Gi")), act=resize(("3", "2Gi")), meanwhile=place_another
    ),
}


async def play(life: Life, line: Line, away: float, root: Path) -> None:
    """Play one life; raise ``AssertionError`` if the parts of the node's state disagree at its end."""
    machine = Machine()
    async with memory_cluster() as plane, killed_node(plane, root, line, runtime=machine) as killed:
        node = killed.node
        if life.other is not None:
            await node.create(of_size("other", life.other))
        await node.create(of_size("web", life.before, *life.policy))
        await node.pass_time(5)
        tasks = [asyncio.create_task(killed.replace_when_cut(away))]
        if life.meanwhile is not None:
            tasks.append(asyncio.create_task(_after_the_cut(line, life.meanwhile, node)))
        await clock.sleep(0)
        line.counts = True
        await life.act(node)
        await clock.sleep(2)
        line.counts = False
        await clock.sleep(SETTLE_SECONDS)
        await _judge(life, node, machine)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _after_the_cut(line: Line, act: Act, node: SimNode) -> None:
    await line.was_cut.wait()
    await act(node)


async def _judge(life: Life, node: SimNode, machine: Machine) -> None:
    found = await node.get()
    (status,) = found.status.container_statuses
    (sandbox,) = [each for each in await machine.list_sandboxes() if each.pod_name == "web"]
    (limits,) = [
        each.resources
        for each in await machine.list_containers()
        if each.sandbox_id == sandbox.id and each.state is ContainerState.RUNNING
    ]
    whole, shown = machine.whole[sandbox.id], status.resources
    assert limits is not None
    assert shown is not None
    allocated = (status.allocated_resources["cpu"], status.allocated_resources["memory"])
    assert allocated in life.after
    assert (shown.requests, shown.limits) == (status.allocated_resources, status.allocated_resources)
    wanted = (milli_value(allocated[0]) * 100, value(allocated[1]))
    assert (limits.cpu_quota, limits.memory_limit) == wanted, "limits of the container"
    assert (whole.cpu_quota, whole.memory_limit) == wanted, "limits of the pod"
    assert condition(found, "PodResizeInProgress") == "absent"
    is_granted = found.spec.containers[0].resources.requests == status.allocated_resources
    assert condition(found, "PodResizePending") == ("absent" if is_granted else "True Deferred")
    assert machine.starts[sandbox.id] == life.restarts + 1
    # A container that was created and never ran counts as an attempt, as it does in Kubernetes.
    assert life.restarts <= status.restart_count <= 2 * life.restarts
    assert condition(found, "Ready") == "True"


def run(life: Life, line: Line, away: float = 0.0) -> int:
    """Play a life on virtual time; return the number of the first kubelet's calls."""
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(life, line, away, Path(directory)))
    return line.calls


@pytest.mark.parametrize("name", LIVES)
def test_resize_ends_though_the_kubelet_is_killed_at_any_call(name: str) -> None:
    life = LIVES[name]
    calls = run(life, Line())
    failures = []
    for number, (at, after) in enumerate(itertools.product(range(1, calls + 1), (False, True))):
        away = AWAY_SECONDS[number // 3 % len(AWAY_SECONDS)]
        try:
            run(life, Line(at, after=after), away)
        except AssertionError as error:
            failures.append(f"cut {'after' if after else 'before'} call {at}, away {away:g} s: {error}")
    assert not failures, "\n".join(failures)
