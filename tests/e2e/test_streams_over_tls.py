"""Logs and commands over real sockets: from a client through the API server to a node, and back."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from podling.api.core_v1 import (
    Binding,
    Container,
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeDaemonEndpoints,
    NodeStatus,
    ObjectReference,
    Pod,
    PodSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.streaming.upgrades import accept_upgrade, open_upgrade
from tests.support.over_tls import Running, running_over_tls

pytestmark = pytest.mark.e2e


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running_over_tls(tmp_path) as running:
        yield running


@dataclass
class Seen:
    """A node's view of its clients."""

    accepted: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    queries: list[str] = field(default_factory=list)


@asynccontextmanager
async def kubelet(server: Running, seen: Seen | None = None) -> AsyncIterator[int]:
    """A node's server: logs in two parts, and a WebSocket that sends every message twice."""
    seen = seen or Seen()

    async def logs(request: web.Request) -> web.StreamResponse:
        if request.query.get("previous"):
            raise web.HTTPBadRequest(
                text='previous terminated container "c" in pod "p" not found', content_type="text/plain"
            )
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one\n", b"two\n"):
            await response.write(part)
        return response

    async def stream(request: web.Request) -> web.StreamResponse:
        seen.queries.append(request.query_string)
        if request.query.get("command") == "refuse":
            raise web.HTTPNotFound(text="no such container", content_type="text/plain")
        socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data * 2)
            if message.data.endswith(b"bye"):
                await socket.close()
        return socket

    async def deaf(request: web.Request) -> web.StreamResponse:
        """Never read, and record when the client has left."""
        response, connection = await accept_upgrade(request, "SPDY/3.1", {})
        seen.accepted.set()
        await connection.left()
        seen.left.set()
        await connection.close()
        return response

    app = web.Application()
    app.router.add_post("/exec/default/p/c", deaf)
    app.router.add_get("/containerLogs/default/p/c", logs)
    app.router.add_get("/exec/default/p/c", stream)
    app.router.add_get("/portForward/default/p", stream)
    pair = server.pki.node_server("n1", ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server.pki.ca.certificate))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(pair.certificate, pair.key)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def bound_pod(server: Running, port: int) -> None:
    """Pod ``p`` on node ``n1``, whose kubelet listens on ``port``."""
    client = server.api.client()
    endpoints = NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port))
    addresses = (NodeAddress(type="InternalIP", address="127.0.0.1"),)
    node = Node(metadata=ObjectMeta(name="n1"))
    await client.create(node)
    status = NodeStatus(addresses=addresses, daemon_endpoints=endpoints)
    await client.update(Node(metadata=ObjectMeta(name="n1"), status=status), subresource="status")
    metadata = ObjectMeta(name="p", namespace="default")
    await client.create(Pod(metadata=metadata, spec=PodSpec(containers=(Container(name="c", image="i"),))))
    binding = Binding(metadata=metadata, target=ObjectReference(kind="Node", name="n1"))
    await client.create_subresource(Pod, "p", "binding", binding, "default")
    await client.patch(Pod, "p", {"status": {"phase": "Running"}}, "default", subresource="status")


POD = "/api/v1/namespaces/default/pods/p"
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


async def test_logs_pass_through(server: Running) -> None:
    async with kubelet(server) as port:
        await bound_pod(server, port)
        async with server.admin() as session:
            async with session.get(f"{POD}/log") as response:
                assert await response.text() == "one\ntwo\n"
            async with session.get(f"{POD}/log", params={"previous": "true"}) as response:
                refused = await response.json()
    assert (refused["code"], refused["message"]) == (
        400,
        'previous terminated container "c" in pod "p" not found',
    )


async def test_exec_passes_frames_both_ways(server: Running) -> None:
    async with kubelet(server) as port, server.admin() as session:
        await bound_pod(server, port)
        url = f"{POD}/exec?command=cat&stdin=true&stdout=true"
        async with session.ws_connect(url, protocols=["v5.channel.k8s.io"]) as socket:
            assert socket.protocol == "v5.channel.k8s.io"
            await socket.send_bytes(b"\x00hello")
            assert await socket.receive_bytes() == b"\x00hello\x00hello"
            await socket.send_bytes(b"\x00bye")
            assert await socket.receive_bytes() == b"\x00bye\x00bye"
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_a_client_that_leaves_is_noticed_behind_data_that_is_not_read(server: Running) -> None:
    """Neither the API server nor the node reads any more when it leaves."""
    seen = Seen()
    context = ssl.create_default_context(cafile=str(server.pki.ca.certificate))
    context.load_cert_chain(server.pki.admin().certificate, server.pki.admin().key)
    async with kubelet(server, seen) as port:
        await bound_pod(server, port)
        _, connection = await open_upgrade(
            f"{server.url}{POD}/exec?command=cat&stdin=1&stdout=1", context, "SPDY/3.1", []
        )
        await seen.accepted.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                while True:
                    await connection.send(bytes(65536))
        async with asyncio.timeout(10):
            await connection.close()
            await seen.left.wait()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{POD}/exec?command=cat&stdout=1&container=x", "container x is not valid for pod p"),
        ("/api/v1/namespaces/default/pods/q/exec?command=cat&stdout=1", 'pods "q" not found'),
    ],
)
async def test_invalid_stream_requests_are_refused(server: Running, path: str, message: str) -> None:
    async with kubelet(server) as port, server.admin() as session:
        await bound_pod(server, port)
        async with session.get(path, headers=WEBSOCKET) as response:
            assert response.status >= 400
            assert message in (await response.json())["message"]


async def test_a_kubelet_refuses_in_its_own_words(server: Running) -> None:
    """A plain-text refusal makes clients fall back to another transport, and they show it unchanged."""
    async with kubelet(server) as port, server.admin() as session:
        await bound_pod(server, port)
        for upgrade in (WEBSOCKET, {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}):
            path = f"{POD}/exec?command=refuse&stdout=1"
            async with session.get(path, headers=upgrade) as response:
                assert (response.status, await response.text()) == (404, "no such container")
                assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_a_node_that_is_not_there(server: Running) -> None:
    async with kubelet(server) as port:
        await bound_pod(server, port)
    async with server.admin() as session:
        for path, headers in ((f"{POD}/log", {}), (f"{POD}/exec?command=a&stdout=1", WEBSOCKET)):
            async with session.get(path, headers=headers) as response:
                assert response.status == 500
                message = (await response.json())["message"]
                assert message.startswith("Internal error occurred: error dialing backend: ")


async def test_ports_reach_the_node_as_one_list(server: Running) -> None:
    seen = Seen()
    async with kubelet(server, seen) as port, server.admin() as session:
        await bound_pod(server, port)
        url = f"{POD}/portforward?ports=1234,1235&ports=80&port=22"
        async with session.ws_connect(url, protocols=["v4.channel.k8s.io"]):
            assert [URL(f"?{query}").query for query in seen.queries] == [{"port": "1234,1235,80"}]
        async with session.get(url.replace("80", "http"), headers=WEBSOCKET) as response:
            assert response.status == 400
            assert (await response.json())["message"].endswith('parsing "http": invalid syntax')


async def test_stopping_the_server_ends_streams(server: Running) -> None:
    async with kubelet(server) as port, server.admin() as session:
        await bound_pod(server, port)
        url = f"{POD}/portforward?ports=80"
        async with session.ws_connect(url, protocols=["v5.channel.k8s.io"]) as socket:
            async with asyncio.timeout(5):
                await server.http.stop()
                ended = (await socket.receive()).type
            assert ended in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
