"""Laws of termination, on random pods and random faults.

No container outlives its grace period by more than 2 s. A kubelet that starts when the grace period is over
gives those 2 s once more, as does a grace period that is shortened to the time already passed: the process
may not have received its stop signal yet. A process that ends within 2 s of its signal is never killed.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import SimNode, pod, sim_node

FLOOR = 2.0
"""The least time between a container's stop signal and SIGKILL."""
SECOND = 1.0
"""Deletion timestamps have whole seconds: a kubelet may count from a little earlier."""
MOMENT = 0.1
"""The kubelet's own time between two steps."""


@st.composite
def endings(draw: st.DrawFn) -> Pod:
    """Draw a pod of containers and sidecars that end by themselves, on a signal, or only when killed."""
    lives = st.fixed_dictionaries(
        {
            "stopSeconds": st.sampled_from([0, 1, 4, 15, 60]),
            "ignoresSignals": st.booleans(),
            "exec": st.just([{"seconds": draw(st.sampled_from([1, 5, 1000]))}]),
        }
    )
    hooks = st.sampled_from([None, {"exec": {"command": ["x"]}}, {"sleep": {"seconds": 3}}])

    def container(name: str, **more: Any) -> dict[str, Any]:
        hook = draw(hooks)
        return {"name": name, "image": "x:1", "lifecycle": {"preStop": hook} if hook else None, **more}

    sidecars = draw(st.sampled_from([[], ["s1"], ["s1", "s2"]]))
    regular = draw(st.sampled_from([["a"], ["a", "b"]]))
    return pod(
        "web",
        containers=[container(name) for name in regular],
        initContainers=[container(name, restartPolicy="Always") for name in sidecars],
        scripts={name: draw(lives) for name in [*regular, *sidecars]},
        terminationGracePeriodSeconds=draw(st.sampled_from([3, 8, 30])),
    )


troubles = st.lists(
    st.tuples(
        st.sampled_from([0.4, 2.0, 5.0]), st.sampled_from(["restart", "delete 4", "delete 60", "delete"])
    ),
    max_size=3,
)


@dataclass
class Ends:
    """The end of each container, in seconds since the deletion, and its exit code."""

    began: float = 0.0
    at: dict[str, float] = field(default_factory=dict)
    codes: dict[str, int | None] = field(default_factory=dict)

    async def follow(self, node: SimNode) -> None:
        names = {found.id: found.name for found in await node.runtime.list_containers()}
        async for event in node.runtime.events():
            if event.type is ContainerEventType.EXITED:
                name = names[event.container_id]
                self.at[name] = clock.monotonic() - self.began
                self.codes[name] = (await node.runtime.container_status(event.container_id)).exit_code


async def delete(node: SimNode, grace: int | None) -> None:
    if await node.exists():
        await node.delete(grace_seconds=grace)


async def play(subject: Pod, happenings: list[tuple[float, str]], root: Path) -> None:
    async with memory_cluster() as plane, sim_node(plane, root) as node:
        await node.create(subject)
        await node.pass_time(2)
        ends = Ends()
        following = asyncio.create_task(ends.follow(node))
        await clock.sleep(0)
        running = {found.name for found in await node.runtime.list_containers()}
        ends.began = clock.monotonic()
        await delete(node, None)
        latest = float(subject.spec.termination_grace_period_seconds or 0)
        shaken = 0.0
        for seconds, what in happenings:
            await node.pass_time(seconds)
            passed = clock.monotonic() - ends.began
            if what == "restart":
                await node.restart()
                shaken = passed
                continue
            grace = what.partition(" ")[2]
            if grace and int(grace) < latest:
                latest, shaken = float(grace), passed  # counted from the first deletion
            await delete(node, int(grace) if grace else None)
        last = max(latest, shaken) + FLOOR
        await node.pass_time(max(0.0, last + 2 - (clock.monotonic() - ends.began)))
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert set(ends.at) == running, "alive after its grace period"
        late = {name: at for name, at in ends.at.items() if at > last + MOMENT}
        assert not late, f"killed too late: {late}, and {last} s were allowed"
        restarted = any(what == "restart" for _, what in happenings)
        keep_order(subject, ends, latest - (SECOND if restarted else 0))
        for name in running:
            life = json.loads(subject.metadata.annotations[f"sim.podling.dev/{name}"])
            if not life["ignoresSignals"] and life["stopSeconds"] <= 1:
                assert ends.codes[name] == 143, f"{name} was killed, though it goes when it is told to"
        assert not await node.exists()
        assert await node.runtime.list_sandboxes() == ()


def keep_order(subject: Pod, ends: Ends, latest: float) -> None:
    """Check that sidecars stop after the containers they serve, while any grace is left."""
    sidecars = [container.name for container in subject.spec.init_containers]
    regular = [container.name for container in subject.spec.containers]
    for position, name in enumerate(sidecars):
        at = ends.at[name]
        for other in (*regular, *sidecars[position + 1 :]):
            assert at >= ends.at[other] - MOMENT or at >= latest - MOMENT, f"{name} went before {other}"


@given(endings(), troubles)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_outlives_its_grace_period(subject: Pod, happenings: list[tuple[float, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(subject, happenings, Path(directory)))
