"""Random faults of the runtime: after they end, every pod gets to the state of its spec."""

from __future__ import annotations

import errno
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from podling.api.core_v1 import Pod
from podling.runtime.base import Container, ContainerState, RuntimeFailure
from podling.runtime.sim import Fault, FaultyRuntime
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import SimNode, condition, pod, sim_node
from tests.unit.kubelet.test_kubelet_laws import pods

STEADY = {"name": "app", "image": "x:1"}
LONGEST_BACKOFF_SECONDS = 330.0
UNDONE_SECONDS = 140.0
"""A call that still hangs then is waited for until its deadline."""


def forget_some(found: Any) -> Any:
    """Return a list without its last element."""
    return found[:-1] if isinstance(found, tuple) else found


def confuse(found: Any) -> Any:
    """Return ended containers as running, without an end."""
    if not isinstance(found, tuple):
        return found
    return tuple(
        structs.replace(one, state=ContainerState.RUNNING, finished_at=None)
        if isinstance(one, Container)
        else one
        for one in found
    )


CALLS = (
    "run_sandbox create_container start_container stop_container stop_sandbox remove_sandbox "
    "remove_container list_sandboxes list_containers container_status exec stats "
    "images.image_status images.pull events status"
)
calls = st.sampled_from(CALLS.split())
UNBOUNDED = ("exec", "images.pull", "events")
"""Commands have no deadline of the kubelet's: the runtime ends those that hang."""
bounded = calls.filter(lambda call: call not in UNBOUNDED)
failures = st.sampled_from([RuntimeFailure("broken"), OSError(errno.ENOSPC, "No space left on device")])
faults = (
    st.builds(Fault, verb=bounded, hangs=st.just(True), done=st.booleans(), times=st.integers(1, 3))
    | st.builds(Fault, verb=calls, error=failures, done=st.booleans(), times=st.integers(1, 5))
    | st.builds(
        Fault,
        verb=st.sampled_from(["list_containers", "list_sandboxes"]),
        lie=st.sampled_from([forget_some, confuse]),
        times=st.integers(1, 20),
    )
)
troubles = st.lists(st.tuples(st.sampled_from([0.0, 2.0, 20.0, 130.0]), faults), min_size=1, max_size=5)


@given(pods(), troubles)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_once_the_runtime_is_well_again_so_are_the_pods(
    subject: Pod, happenings: list[tuple[float, Fault]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(subject, happenings, Path(directory)))


async def play(subject: Pod, happenings: list[tuple[float, Fault]], root: Path) -> None:
    runtime = FaultyRuntime()
    async with memory_cluster() as plane, sim_node(plane, root, runtime=runtime) as node:
        name = subject.metadata.name or ""
        await node.create(subject)
        for seconds, fault in happenings:
            await node.pass_time(seconds)
            runtime.faults.append(replace(fault, met=0))
        await node.pass_time(30)
        runtime.faults.clear()
        await node.pass_time(UNDONE_SECONDS + LONGEST_BACKOFF_SECONDS)
        await one_of_each(node)
        await node.create(pod("steady", containers=[STEADY]))
        await node.pass_time(2)
        assert condition(await node.get("steady"), "Ready") == "True", "the node did not recover"
        for gone in (name, "steady"):
            await node.delete(gone)
        await node.pass_time(60)
        assert [await node.exists(gone) for gone in (name, "steady")] == [False, False]
        assert [*await runtime.list_sandboxes(), *await runtime.list_containers()] == []


async def one_of_each(node: SimNode) -> None:
    """Check that no container runs twice, and no pod has two sandboxes that are ready."""
    living = [c.name for c in await node.runtime.list_containers() if c.state is ContainerState.RUNNING]
    assert len(living) == len(set(living)), f"running twice: {living}"
    ready = [box.pod_name for box in await node.runtime.list_sandboxes() if box.ready]
    assert len(ready) == len(set(ready)), f"two sandboxes: {ready}"
