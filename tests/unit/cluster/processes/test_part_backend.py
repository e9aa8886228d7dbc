"""Requests of the parts wait for an API server that is started again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import ConfigMap
from podling.apiserver.socket.server import SocketServer
from podling.client.base import Unreachable
from podling.client.component_reports import ComponentReports
from podling.client.local import LocalClient
from podling.client.socket_backend import SocketBackend
from podling.cluster.directory import DataDirectory
from podling.cluster.processes import part_backend
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import config_map

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as running:
        yield running


async def test_requests_wait_for_the_server(cluster: ControlPlane, tmp_path: Path) -> None:
    server = SocketServer(cluster.server, tmp_path / "api.sock")
    reports = ComponentReports("control")
    async with asyncio.timeout(20), SocketBackend(server.path, reports) as backend:
        client = LocalClient(part_backend.part_backend(backend, DataDirectory(tmp_path), reports))
        start = (await cluster.client.list(ConfigMap)).resource_version
        watch = client.watch(ConfigMap, "default", resource_version=start)
        event = asyncio.ensure_future(anext(watch))
        created = asyncio.ensure_future(client.create(config_map("a")))
        found = asyncio.ensure_future(client.list(ConfigMap, "kube-public"))
        await asyncio.wait([created, event, found], timeout=0.1)
        assert not any(each.done() for each in (created, event, found))
        await server.start()
        assert (await created).metadata.name == (await event).object.metadata.name == "a"
        assert (await found).items == ()
        assert (await client.get(ConfigMap, "a", "default")).metadata.name == "a"
        await server.stop()


async def test_request_fails_where_no_server_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_backend, "WAIT_SECONDS", 0.1)
    async with asyncio.timeout(20), SocketBackend(tmp_path / "api.sock") as backend:
        client = LocalClient(part_backend.WaitingBackend(backend))
        with pytest.raises(Unreachable):
            await client.get(ConfigMap, "a", "default")
        with pytest.raises(Unreachable):
            await anext(client.watch(ConfigMap, resource_version="1"))
