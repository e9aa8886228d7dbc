"""The kubelet's server over HTTPS, with a simulated pod behind it."""

from __future__ import annotations

import asyncio
import logging

import pytest
from aiohttp import WSMsgType

from tests.unit.kubelet.server.served_kubelet import Served, Watched

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]


async def test_server_responds_503_before_the_kubelet_starts(kubelet: Served) -> None:
    assert await kubelet.api_server.get("/healthz") == (200, "ok")
    assert await kubelet.api_server.get("/pods") == (503, "the kubelet is starting")


async def test_logs_are_read_and_refused_in_kubernetes_words(served: Served) -> None:
    get = served.api_server.get
    assert await get("/containerLogs/default/web/app?tailLines=1") == (200, "second\n")
    assert await get("/containerLogs/default/web/app?limitBytes=3") == (200, "fir")
    for path, code, text in (
        ("default/none/app", 404, 'pod "none" does not exist'),
        ("default/web/none", 404, 'container "none" not found in pod "web"'),
        ("default/web/side", 400, 'container "side" in pod "web" is waiting to start: ContainerCreating'),
        ("default/web/app?previous=true", 400, 'previous terminated container "app" in pod "web" not found'),
        ("default/web/app?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        ("default/web/app?sinceTime=2026-01-01T00:00:00", 400, '{"message": "Unable to decode query."}'),
        ("default/web/app?sinceSeconds=0", 422, '{"message": "Invalid request."}'),
    ):
        assert await get(f"/containerLogs/{path}") == (code, text)


async def test_a_followed_log_is_sent_as_it_grows(served: Served) -> None:
    async with served.api_server.session.get(
        "/containerLogs/default/web/app?follow=true&tailLines=1"
    ) as reply:
        assert await reply.content.readline() == b"second\n"
        assert await reply.content.readline() == b"late\n"


async def test_followed_log_is_closed_when_its_reader_leaves(served: Served) -> None:
    """Nothing is ever written, so only the closed connection shows that the reader left."""
    path = "/containerLogs/default/web/app?follow=true&limitBytes=1000000&sinceTime=2100-01-01T00:00:00Z"
    async with served.api_server.session.get(path) as reply:
        assert reply.status == 200
    assert isinstance(served.source.runtime, Watched)
    async with asyncio.timeout(10):
        await served.source.runtime.reader_left.wait()


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_clients_that_leave_early_cause_no_errors(
    served: Served, caplog: pytest.LogCaptureFixture, after: int
) -> None:
    """They leave with their request, when it is accepted, or after the first message, all at once."""
    request = (
        b"GET /exec/default/web/app?command=cat&stdin=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    async def leaves() -> None:
        port = int(served.api_server.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=served.api_server.context)
        writer.write(request)
        if after:
            await reader.readuntil(b"\r\n\r\n")
        if after > 1:
            await reader.readexactly(3)
        writer.transport.abort()

    await asyncio.gather(*(leaves() for _ in range(20)))
    assert await served.api_server.get("/healthz") == (200, "ok")
    await served.server.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_metrics_count_what_runs(served: Served) -> None:
    code, text = await served.api_server.get("/metrics")
    assert code == 200
    assert "kubelet_running_pods 1\n" in text
    assert 'kubelet_running_containers{container_state="running"} 1\n' in text
    code, text = await served.api_server.get("/metrics/resource")
    assert 'container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"} 0 ' in text
    code, text = await served.api_server.get("/metrics/cadvisor")
    assert 'container_memory_usage_bytes{container="app",id="' in text
    code, text = await served.api_server.get("/metrics/probes")
    assert (code, text) == (200, ""), "nothing is probed"
    code, text = await served.api_server.get("/stats/summary")
    assert '"podRef":{"name":"web","namespace":"default","uid":"uid-1"}' in text


async def test_closing_ends_open_connections(served: Served) -> None:
    socket = await served.api_server.socket("/attach/default/web/app?stdout=true", "v5.channel.k8s.io")
    closing = asyncio.create_task(served.server.close())
    async with asyncio.timeout(10):
        while (await socket.receive()).type is WSMsgType.BINARY:
            pass
        await closing
