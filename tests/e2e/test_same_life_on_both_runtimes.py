"""The simulated runtime and real containers give the same pods the same statuses and events.

The stories (``tests.support.stories``) are played on a cluster of the ``oci`` runtime, over HTTPS and in real
time, and in memory on ``sim``, in virtual time, by the same player. Both traces are whole: every revision of
every pod, with its whole status, and every write of its events, in order. They must be equal;
``tests.support.pod_traces`` names the allowed differences.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from podling.client.base import Client
from podling.client.http import HttpClient
from podling.cluster.components import run_components
from podling.controllers.volumes.volume_folders import NoFolders
from podling.runtime.sim import Scenario
from podling.sim.loop import run as in_virtual_time
from podling.testing import memory_cluster
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster
from tests.support.kubelet_node import NODE, SimNode, sim_node
from tests.support.pod_processes import kill_process_namespace
from tests.support.pod_traces import Theatre, Trace, by_component, changes, difference, same_story
from tests.support.stories import IMAGES, STORIES

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

REAL_SECONDS_MAX = 100
VIRTUAL_SECONDS_MAX = 600


class RealHands:
    """Actions on pods of a cluster of real containers."""

    node = socket.gethostname()

    def __init__(self, client: Client) -> None:
        self.client = client

    async def lose_sandbox(self, uid: str) -> None:
        kill_process_namespace(uid)


class SimHands:
    """Actions on pods of a simulated node."""

    node = NODE

    def __init__(self, node: SimNode) -> None:
        self.client: Client = node.client
        self._runtime = node.runtime

    async def lose_sandbox(self, uid: str) -> None:
        for sandbox in await self._runtime.list_sandboxes():
            if sandbox.pod_uid == uid and sandbox.ready:
                await self._runtime.stop_sandbox(sandbox.id)


async def _played(hands: RealHands | SimHands, seconds: float) -> dict[str, Trace]:
    theatre = Theatre(hands, STORIES)
    await theatre.play(seconds)
    told = {
        name: "\n".join(changes([m.shown for m in theatre.traces[name].moments]))
        for name in theatre.unfinished
    }
    assert not told, "\n".join(f"{name} did not come to its end:\n{text}" for name, text in told.items())
    return theatre.traces


async def _play_for_real(cluster: RealCluster) -> dict[str, Trace]:
    client = HttpClient.from_kubeconfig(cluster.kubeconfig)
    try:
        return await _played(RealHands(client), REAL_SECONDS_MAX)
    finally:
        await client.close()


async def _play_in_memory(root: Path) -> dict[str, Trace]:
    scenario = Scenario(images=IMAGES)
    async with memory_cluster() as plane:
        components = asyncio.create_task(run_components(plane.client_for, "", NoFolders(root)))
        try:
            async with sim_node(plane, root, scenario) as node:
                return await _played(SimHands(node), VIRTUAL_SECONDS_MAX)
        finally:
            components.cancel()
            await asyncio.gather(components, return_exceptions=True)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    return in_virtual_time(_play_in_memory(tmp_path_factory.mktemp("sim")))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Trace]]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    cluster = RealCluster(tmp_path_factory.mktemp("oci") / "data", "oci", "--port", "0")
    try:
        cluster.up()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            yield runner.run(_play_for_real(cluster))
    finally:
        cluster.remove()


@pytest.mark.parametrize("story", STORIES)
def test_every_revision_of_the_pod_is_the_same(
    real: dict[str, Trace], simulated: dict[str, Trace], story: str
) -> None:
    one, other = same_story(real[story].moments, simulated[story].moments)
    assert one == other, f"\n{difference(changes(one), changes(other))}"


@pytest.mark.parametrize("story", STORIES)
def test_every_event_is_the_same(real: dict[str, Trace], simulated: dict[str, Trace], story: str) -> None:
    one, other = by_component(real[story].events), by_component(simulated[story].events)
    assert one == other, f"\n{difference(one, other)}"


def test_each_story_is_played_the_same_every_time(simulated: dict[str, Trace], tmp_path: Path) -> None:
    """The simulation is deterministic, so that the comparison is."""
    assert in_virtual_time(_play_in_memory(tmp_path), seed=1) == simulated
