"""Laws that hold for every pod, checked on random lives on virtual time.

Each run plays random pods on a simulated node, with deletions, restarts of the kubelet and losses of
power, and checks every version of every pod in the API.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import ContainerStatus, Pod
from podling.client.base import WatchEventType
from podling.runtime.base import ContainerState
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import SimNode, pod, sim_node

GRACE = 7
TERMINAL = ("Succeeded", "Failed")


@dataclass
class History:
    """Checks every version of every pod as it comes."""

    last: dict[str, Pod] = field(default_factory=dict)

    def take(self, found: Pod) -> None:
        uid = found.metadata.uid or ""
        before = self.last.get(uid)
        if before is not None:
            self.compare(before, found)
        self.last[uid] = found

    def compare(self, before: Pod, after: Pod) -> None:
        if before.status.phase in TERMINAL:
            assert after.status.phase == before.status.phase, "a terminal phase was left"
        counts = {status.name: status.restart_count for status in statuses(before)}
        for status in statuses(after):
            assert status.restart_count >= counts.get(status.name, 0), "a restart count fell"
        assert before.status.start_time in (None, after.status.start_time), "the start time moved"
        for status in statuses(after):
            kinds = (status.state.running, status.state.waiting, status.state.terminated)
            assert sum(kind is not None for kind in kinds) == 1, "not exactly one state"
            assert not status.ready or status.state.running or status.state.terminated, "ready but waiting"
        ready = {held.type: held.status for held in after.status.conditions}
        if after.status.phase in TERMINAL:
            assert ready.get("Ready", "False") == "False", "over but ready"


def statuses(found: Pod) -> tuple[ContainerStatus, ...]:
    return (*found.status.init_container_statuses, *found.status.container_statuses)


async def follow(node: SimNode, history: History) -> None:
    listing = await node.client.list(Pod, "default")
    async for event in node.client.watch(Pod, "default", resource_version=listing.resource_version):
        if event.type is not WatchEventType.BOOKMARK:
            history.take(event.object)


async def never_two_of_one(node: SimNode) -> None:
    """Check that no container ever runs twice at once."""
    async for _ in node.runtime.events():
        running = [
            (container.labels.get("io.kubernetes.pod.uid"), container.name)
            for container in await node.runtime.list_containers()
            if container.state is ContainerState.RUNNING
        ]
        assert len(running) == len(set(running)), "two of one container run"


lives = st.fixed_dictionaries(
    {},
    optional={
        "startSeconds": st.sampled_from([0, 1]),
        "runs": st.lists(
            st.fixed_dictionaries({"seconds": st.sampled_from([0, 2, 30, 400, None])})
            | st.fixed_dictionaries({"seconds": st.sampled_from([0, 3, 45]), "exitCode": st.just(1)}),
            min_size=1,
            max_size=3,
        ),
        "ignoresSignals": st.booleans(),
        "stopSeconds": st.sampled_from([0, 3, 20]),
        "probes": st.lists(
            st.fixed_dictionaries({"after": st.sampled_from([0, 20, 60]), "success": st.booleans()}),
            max_size=3,
        ),
    },
)
probe = {"httpGet": {"port": 80}, "periodSeconds": 3, "failureThreshold": 2}
hook = {"preStop": {"sleep": {"seconds": 4}}}


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    def container(name: str, **more: Any) -> dict[str, Any]:
        extra = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "livenessProbe": st.just(probe),
                    "readinessProbe": st.just(probe),
                    "startupProbe": st.just({**probe, "failureThreshold": 10}),
                    "lifecycle": st.just(hook),
                },
            )
        )
        if more.get("plain"):
            extra, more = {}, {}
        return {"name": name, "image": "x:1", **extra, **more}

    init = draw(st.lists(st.sampled_from(["i", "s", "t"]), unique=True, max_size=3))
    names = draw(st.sampled_from([["a"], ["a", "b"]]))
    return pod(
        f"p{draw(st.integers(0, 10**6))}",
        containers=[container(name) for name in names],
        initContainers=[
            container(name, plain=True) if name == "i" else container(name, restartPolicy="Always")
            for name in init
        ],
        scripts={name: draw(lives) for name in [*names, *init]},
        restartPolicy=draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        terminationGracePeriodSeconds=GRACE,
    )


events = st.lists(
    st.tuples(
        st.sampled_from([1.5, 10.0, 60.0, 700.0]), st.sampled_from(["nothing", "restart", "stop sandboxes"])
    ),
    max_size=5,
)


@given(st.lists(pods(), min_size=1, max_size=4, unique_by=lambda p: p.metadata.name), events)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_life_keeps_the_laws(subjects: list[Pod], happenings: list[tuple[float, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(subjects, happenings, Path(directory)))


async def play(subjects: list[Pod], happenings: list[tuple[float, str]], root: Path) -> None:
    history = History()
    async with memory_cluster() as plane, sim_node(plane, root) as node:
        watchers = [asyncio.create_task(follow(node, history)), asyncio.create_task(never_two_of_one(node))]
        for subject in subjects:
            await node.create(subject)
        for seconds, what in happenings:
            await node.pass_time(seconds)
            if what == "restart":
                await node.restart()
            elif what == "stop sandboxes":
                for sandbox in await node.runtime.list_sandboxes():
                    await node.runtime.stop_sandbox(sandbox.id)
        await node.pass_time(20)
        await end_all(node, subjects)
        for watcher in watchers:
            if watcher.done():
                await watcher
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)


async def end_all(node: SimNode, subjects: list[Pod]) -> None:
    """Delete everything, and check that nothing is left after the grace period and two seconds."""
    began = clock.monotonic()
    for subject in subjects:
        await node.delete(subject.metadata.name or "")
    await node.pass_time(GRACE + 2.001)
    running = [c for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert running == [], "alive after its grace period"
    await node.pass_time(1)
    assert [await node.exists(s.metadata.name or "") for s in subjects] == [False] * len(subjects)
    assert await node.runtime.list_sandboxes() == ()
    assert clock.monotonic() - began < GRACE + 4
