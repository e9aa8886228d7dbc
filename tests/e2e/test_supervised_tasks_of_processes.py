"""Each background task of a component in a process of its own fails once, and the component goes on.

The others are in ``tests/unit/test_supervised_tasks.py``. Here both ends share the test's process.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Namespace
from podling.client.base import Client, Unreachable
from podling.client.component_reports import ComponentReports
from podling.client.local import LocalClient
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.processes.part_process import _live
from podling.cluster.processes.parts import NODE, Part
from podling.cluster.processes.reports import Alive, Ready, Reporter, ReportReader, Started
from podling.cluster.processes.state_file import StateFile
from podling.cluster.processes.surroundings import Surroundings
from podling.testing import memory_cluster
from tests.contract.client_stories import serving, socket_backend
from tests.support.failing_tasks import FailingTasks, sites
from tests.unit.test_supervised_tasks import FAULTS, NEEDS_PROCESSES

pytestmark = [
    pytest.mark.asyncio(loop_factories=["uvloop"]),
    pytest.mark.slow,
    pytest.mark.usefixtures("failures_expected"),
]


class IdlePart:
    """A part that does nothing."""

    async def start(self) -> Started:
        return Started()

    async def ready(self) -> None:
        return

    def tasks(self) -> Mapping[str, asyncio.Task[None]]:
        return {}

    async def stop(self) -> None:
        return


@asynccontextmanager
async def idle_part(tmp_path: Path) -> AsyncIterator[ReportReader]:
    """Run an idle part in this process; yield its reports."""
    reading, writing = os.pipe()
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    surroundings = Surroundings(
        part=Part(NODE, "node-a"),
        directory=directory,
        settings=ClusterSettings(),
        reporter=Reporter(writing),
        states=StateFile(tmp_path / "states.json"),
    )
    life = asyncio.create_task(_live(surroundings, IdlePart()))
    reader = ReportReader(reading)
    try:
        yield reader
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await life
        reader.close()
        os.close(writing)


async def wait_for(reader: ReportReader, *wanted: type) -> None:
    """Wait for a report of each of the wanted kinds."""
    missing = set(wanted)
    async with asyncio.timeout(20):
        while missing:
            missing -= {type(report) for report in reader.read()}
            await clock.sleep(0.05)


async def answered(client: Client) -> Namespace:
    """Return what the API server answers once it is reached again."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await client.get(Namespace, "default")
            except Unreachable:
                await clock.sleep(0.05)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__ + str(fault)[:10])
async def test_every_task_of_a_process_may_fail_once(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    async with (
        idle_part(tmp_path) as reader,
        memory_cluster() as cluster,
        socket_backend(cluster, tmp_path, ComponentReports("node/a")) as (server, backend),
        serving(cluster, tmp_path) as (_, client),
    ):
        await wait_for(reader, Started, Ready, Alive)
        before = tasks.long_lived()
        for name, subject in sorted(before):
            tasks.fail(name, subject)
        assert (await answered(LocalClient(backend))).metadata.name == "default"
        async with asyncio.timeout(20):
            while not server.components.states():
                await clock.sleep(0.05)
        assert b"podling_task_failures_total" in await client._transport.send("GET", "/metrics")
        await wait_for(reader, Alive)
        async with asyncio.timeout(20):
            while before - tasks.long_lived():
                await clock.sleep(0.05)
    wanted = {site for site in sites() if site[0] in NEEDS_PROCESSES}
    assert wanted - tasks.sites == set(), "these tasks are not run here, so their failure is not tried"
