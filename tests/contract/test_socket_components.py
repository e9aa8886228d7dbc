"""Components in other processes, as the API server shows them: states, metrics, aggregated servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from podling import clock, supervisor
from podling.api.core_v1 import ComponentStatus
from podling.apiserver.socket import components
from podling.client.component_reports import ComponentReports
from podling.client.messages import Beat
from podling.client.metric_families import encode_families
from podling.client.socket_backend import SocketBackend
from podling.machinery.histograms import Histogram, counters, histograms
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import serving, socket_backend

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as running:
        yield running


class Counts:
    """A collector with a counter and a histogram."""

    def __init__(self, name: str, count: int) -> None:
        self._labels, self._count = (name,), count

    def collect(self) -> Iterator[Any]:
        yield counters("example_requests", "Requests.", ("name",), {self._labels: self._count})
        seconds = Histogram((0.1, 1.0))
        for _ in range(self._count):
            seconds.observe(0.5)
        yield histograms("example_seconds", "Seconds.", ("name",), {self._labels: seconds})


async def message_of(cluster: ControlPlane, component: str) -> str:
    status = await cluster.client.get(ComponentStatus, component)
    (condition,) = status.conditions
    assert (condition.status == "True") == (condition.message == "ok")
    return condition.message or ""


async def first_beat(cluster: ControlPlane, component: str) -> None:
    while await message_of(cluster, component) == "it does not run in this process":
        await clock.sleep(0.001)


async def test_component_statuses_show_connected_components(cluster: ControlPlane, tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def run() -> None:
        await stop.wait()
        raise RuntimeError("the scheduler has failed")

    task, reports = asyncio.create_task(run()), ComponentReports("control")
    reports.look_after("scheduler", task)
    assert await message_of(cluster, "scheduler") == "it does not run in this process"
    async with socket_backend(cluster, tmp_path, reports) as (server, backend):
        await first_beat(cluster, "scheduler")
        assert await message_of(cluster, "scheduler") == "ok"
        (state,) = server.components.states()
        assert (state.name, state.errors) == ("control", {"scheduler": ""})
        assert state.silent_seconds < components.SILENT_SECONDS
        stop.set()
        await asyncio.wait([task])
        backend.connection().send(Beat(reports.errors()))
        while await message_of(cluster, "scheduler") == "ok":
            await clock.sleep(0.001)
        assert await message_of(cluster, "scheduler") == "the scheduler has failed"
        await backend.close()
        while server.components.states():
            await clock.sleep(0.001)
        assert await message_of(cluster, "scheduler") == "its process is not connected"


async def test_silent_process_is_noticed(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, task = ComponentReports("control"), asyncio.create_task(asyncio.Event().wait())
    reports.look_after("scheduler", task)  # type: ignore[arg-type]
    async with socket_backend(cluster, tmp_path, reports):
        await first_beat(cluster, "scheduler")
        monkeypatch.setattr(components, "SILENT_SECONDS", 0.0)
        assert "no sign of life of process" in await message_of(cluster, "scheduler")
    task.cancel()


async def test_metrics_of_all_processes_are_on_one_page(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(supervisor.failures, "example", 3)
    cluster.server.count(Counts("common", 1))
    control, node = ComponentReports("control"), ComponentReports("node/n1")
    control.count(Counts("common", 2))
    control.count(Counts("scheduler", 4))
    node.count(Counts("common", 8))
    async with (
        socket_backend(cluster, tmp_path, control) as (server, _),
        SocketBackend(server.path, node) as other,
        serving(cluster, tmp_path) as (_, client),
    ):
        await other.connected()
        while len(server.components.states()) < 2:
            await clock.sleep(0.001)
        for _ in range(2):  # a page changes no later one
            page = (await client._transport.send("GET", "/metrics")).decode()
            found: dict[tuple[str, str], float] = {}
            families = list(text_string_to_metric_families(page))
            assert len({family.name for family in families}) == len(families)
            for sample in (each for family in families for each in family.samples):
                key = sample.name, str(sorted(sample.labels.items()))
                assert key not in found, "a series occurs once"
                found[key] = sample.value
            assert found["example_requests_total", "[('name', 'common')]"] == 11
            assert found["example_requests_total", "[('name', 'scheduler')]"] == 4
            assert found["example_seconds_count", "[('name', 'common')]"] == 11
            assert found["example_seconds_bucket", "[('le', '1.0'), ('name', 'common')]"] == 11
            assert found["podling_task_failures_total", "[('task', 'example')]"] == 9
            memory = {key for key in found if key[0] == "podling_process_resident_memory_bytes"}
            assert {labels for _, labels in memory} == {
                "[('process', 'control')]",
                "[('process', 'node/n1')]",
            }


async def test_process_that_does_not_answer_is_left_out(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components, "ANSWER_SECONDS", 0.01)
    reports, stuck = ComponentReports("control"), asyncio.Event()
    reports.count(Counts("common", 1))

    async def metrics(_: bytes) -> bytes:
        await stuck.wait()
        return b""

    reports.metrics = metrics  # type: ignore[method-assign]
    async with socket_backend(cluster, tmp_path, reports) as (server, _):
        while not server.components.states():
            await clock.sleep(0.001)
        await server.components.refresh()
        assert list(server.components.collect()) == []
        stuck.set()


async def test_silent_process_is_not_waited_for(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, reports = 0, ComponentReports("control")

    async def metrics(_: bytes) -> bytes:
        nonlocal calls
        calls += 1
        return encode_families([])

    reports.metrics = metrics  # type: ignore[method-assign]
    async with socket_backend(cluster, tmp_path, reports) as (server, _):
        while not server.components.states():
            await clock.sleep(0.001)
        await server.components.refresh()
        monkeypatch.setattr(components, "SILENT_SECONDS", 0.0)
        await server.components.refresh()
        assert calls == 1
