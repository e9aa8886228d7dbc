"""Logs and watches over WebSockets, byte by byte on real sockets and as client libraries read them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from podling.api.core_v1 import Container, Node, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.app import HttpServer
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.proxy.streams import Body, StreamRequests
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.store.memory import MemoryStore
from tests.support.served_here import ADMIN, TOKEN
from tests.support.websocket_frames import client_frame, server_frames

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
LOG = "/api/v1/namespaces/default/pods/p/log"
BEARER = f"Authorization: Bearer {TOKEN}"
ORIGIN = "Origin: http://127.0.0.1"
LINES = b"".join(b"line %d\n" % number for number in range(1000))
"""More than one message of a log."""
HANDSHAKE = (
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)
CLOSED_NORMALLY = (8, b"\x03\xe8")
TEXT, BINARY = 1, 2


class LogBody:
    """A kubelet's answer: ``data``, endless with ``follow``."""

    headers: Mapping[str, str] = {"Content-Type": "text/plain"}

    def __init__(self, status: int, data: bytes, *, follow: bool) -> None:
        self.status, self._data, self._follow = status, data, follow
        self.closed = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._data
        if self._follow:
            await asyncio.Event().wait()

    async def close(self) -> None:
        self.closed.set()


class LogNode:
    """A connection to a kubelet that has only a log."""

    def __init__(self) -> None:
        self.bodies: list[LogBody] = []

    async def request(
        self,
        node: Node,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> Body:
        if "previous" in query:
            return LogBody(400, b"no previous container", follow=False)
        self.bodies.append(LogBody(200, LINES, follow="follow" in query))
        return self.bodies[-1]

    async def pass_upgrade(
        self, node: Node, path: str, query: str, request: HttpRequest
    ) -> web.StreamResponse:
        raise OSError("no streams here")

    async def close(self) -> None:
        return


class Server:
    """An API server on a port of this machine, with pod ``p`` on node ``n``."""

    def __init__(self, api: ApiServer, port: int, node: LogNode) -> None:
        self.api, self.port, self.node = api, port, node
        self.sockets: list[Socket] = []

    async def connect(self, path: str, *lines: str, protocols: str = "") -> Socket:
        """Request a WebSocket; the server may give another answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        socket = Socket(reader, writer)
        self.sockets.append(socket)
        offer = [f"Sec-WebSocket-Protocol: {protocols}"] if protocols else []
        writer.write("\r\n".join([f"GET {path} HTTP/1.1", *HANDSHAKE, *lines, *offer, "", ""]).encode())
        socket.head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        return socket

    async def create(self, name: str) -> None:
        url = f"http://127.0.0.1:{self.port}{MAPS}"
        body = {"metadata": {"name": name}}
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(headers=headers) as session, session.post(url, json=body) as answer:
            assert answer.status == 201


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    store, node = MemoryStore(), LogNode()
    api = ApiServer(store, (), static_tokens={TOKEN: ADMIN})
    await api.start()
    streams = StreamRequests(api.registry, api.objects, node)
    http = HttpServer(api, api.authenticator, Serving(port=0), streams)
    await http.start()
    client = api.client()
    await client.create(Node(metadata=ObjectMeta(name="n")))
    spec = PodSpec(containers=(Container(name="c", image="i"),), node_name="n")
    await client.create(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))
    try:
        yield (running := Server(api, http.port, node))
    finally:
        for socket in running.sockets:
            socket.leave()
        await http.stop()
        await api.stop()
        await store.close()


class Socket:
    """A client's WebSocket that shows every frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.head: list[str] = []
        self._data = b""

    @property
    def code(self) -> int:
        return int(self.head[0].split()[1])

    def header(self, name: str) -> str | None:
        values = [line.partition(": ")[2] for line in self.head if line.lower().startswith(f"{name}: ")]
        return values[0] if values else None

    def send(self, opcode: int, data: bytes) -> None:
        self._writer.write(client_frame(opcode, data))

    async def frames(self, count: int) -> list[tuple[int, bytes]]:
        """Return the first ``count`` frames that the server sends; fewer if it ends before."""
        async with asyncio.timeout(10):
            while len(found := server_frames(self._data)) < count:
                if not (chunk := await self._reader.read(65536)):
                    break
                self._data += chunk
        return found[:count]

    async def rest(self) -> list[tuple[int, bytes]]:
        """Return every frame until the server closes; answer the close frame."""
        return await self.frames(1 << 30)

    def leave(self) -> None:
        self._writer.close()


def events(frames: Sequence[tuple[int, bytes]]) -> list[tuple[str, str]]:
    decoded: list[dict[str, Any]] = [json.loads(data) for opcode, data in frames if opcode == TEXT]
    return [(each["type"], each["object"]["metadata"]["name"]) for each in decoded]


@pytest.mark.parametrize(
    ("offered", "chosen", "opcode"),
    [
        ("", None, BINARY),
        ("binary.k8s.io", "binary.k8s.io", BINARY),
        ("base64.binary.k8s.io", "base64.binary.k8s.io", TEXT),
        ("other, base64.binary.k8s.io, binary.k8s.io", "base64.binary.k8s.io", TEXT),
    ],
)
async def test_log_is_sent_after_an_empty_message(
    server: Server, offered: str, chosen: str | None, opcode: int
) -> None:
    socket = await server.connect(LOG, BEARER, protocols=offered)
    assert (socket.code, socket.header("sec-websocket-protocol")) == (101, chosen)
    frames = await socket.rest()
    assert frames[0] == (opcode, b"")
    assert frames[-1] == CLOSED_NORMALLY
    messages = [data for kind, data in frames[1:-1] if kind == opcode]
    assert len(messages) == len(frames) - 2
    plain = [base64.b64decode(data, validate=True) if opcode == TEXT else data for data in messages]
    assert b"".join(plain) == LINES
    assert max(map(len, plain)) == 2048


async def test_log_refuses_subprotocols_of_other_streams(server: Server) -> None:
    socket = await server.connect(LOG, BEARER, protocols="v4.channel.k8s.io")
    assert socket.code == 403
    assert server.node.bodies[0].closed.is_set()


async def test_log_that_the_kubelet_refuses_is_an_http_error(server: Server) -> None:
    socket = await server.connect(f"{LOG}?previous=true", BEARER)
    assert socket.code == 400


@pytest.mark.parametrize("leaves", ["closes", "vanishes"])
async def test_followed_log_ends_with_its_client(server: Server, leaves: str) -> None:
    socket = await server.connect(f"{LOG}?follow=true", BEARER)
    await socket.frames(3)
    socket.send(BINARY, b"this means nothing")
    socket.send(9, b"are you there")
    frames = await socket.frames(7)
    assert frames[-1] == (10, b"are you there")
    if leaves == "closes":
        socket.send(8, b"\x03\xe8")
        assert (await socket.rest())[-1] == CLOSED_NORMALLY
    else:
        socket.leave()
    async with asyncio.timeout(5):
        await server.node.bodies[0].closed.wait()


@pytest.mark.parametrize("offered", ["", "binary.k8s.io", "base64.binary.k8s.io"])
async def test_watch_sends_one_event_a_message(server: Server, offered: str) -> None:
    await server.create("before")
    path = f"{MAPS}?watch=1&fieldSelector=metadata.name!=kube-root-ca.crt&resourceVersion=0"
    socket = await server.connect(path, BEARER, ORIGIN, protocols=offered)
    assert (socket.code, socket.header("sec-websocket-protocol")) == (101, offered or None)
    assert events(await socket.frames(1)) == [("ADDED", "before")]
    await server.create("after")
    frames = await socket.frames(2)
    assert events(frames) == [("ADDED", "before"), ("ADDED", "after")]
    assert all(data.endswith(b"}\n") for _, data in frames)
    socket.send(8, b"\x03\xe8")
    assert (await socket.rest())[2:] == [CLOSED_NORMALLY]


async def test_watch_ends_with_a_close_frame_at_its_timeout(server: Server) -> None:
    path = f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={server.api.store.revision}"
    socket = await server.connect(path, BEARER, ORIGIN)
    assert await socket.rest() == [CLOSED_NORMALLY]


async def test_watch_that_begins_too_early_sends_an_error_event(server: Server) -> None:
    for number in range(3):
        await server.create(f"map-{number}")
    await server.api.store.compact(server.api.store.revision)
    socket = await server.connect(f"{MAPS}?watch=1&resourceVersion=1", BEARER, ORIGIN)
    event, end = await socket.rest()
    assert (event[0], json.loads(event[1])["object"]["code"]) == (TEXT, 410)
    assert end == CLOSED_NORMALLY


@pytest.mark.parametrize(
    ("path", "lines", "protocols", "code"),
    [
        (f"{MAPS}?watch=1", [BEARER], "", 403),
        (f"{MAPS}?watch=1", [BEARER, "Origin: null"], "", 403),
        (f"{MAPS}?watch=1", [BEARER, ORIGIN], "a, b", 400),
        (f"{MAPS}?watch=1", [ORIGIN], "", 403),
        (f"{MAPS}?watch=1&resourceVersion=x", [BEARER, ORIGIN], "", 400),
        (f"{MAPS}?watch=1", ["Authorization: Bearer x", ORIGIN], "", 401),
    ],
)
async def test_watch_is_refused_before_the_upgrade(
    server: Server, path: str, lines: list[str], protocols: str, code: int
) -> None:
    assert (await server.connect(path, *lines, protocols=protocols)).code == code


async def test_reads_without_an_own_websocket_are_answered_as_ever(server: Server) -> None:
    assert (await server.connect(MAPS, BEARER, ORIGIN)).code == 200


@pytest.mark.parametrize(("token", "code"), [(TOKEN, 101), ("wrong", 401)])
async def test_subprotocol_may_carry_the_token(server: Server, token: str, code: int) -> None:
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    offered = f"base64url.bearer.authorization.k8s.io.{encoded}, binary.k8s.io"
    socket = await server.connect(LOG, protocols=offered)
    assert socket.code == code
    if code == 101:
        assert socket.header("sec-websocket-protocol") == "binary.k8s.io"


async def test_log_of_a_pod_without_a_node_has_no_content(server: Server) -> None:
    spec = PodSpec(containers=(Container(name="c", image="i"),))
    await server.api.client().create(Pod(metadata=ObjectMeta(name="q", namespace="default"), spec=spec))
    socket = await server.connect(LOG.replace("/p/", "/q/"), BEARER)
    assert socket.code == 204


async def test_clients_of_libraries_read_both(server: Server) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    base = f"ws://127.0.0.1:{server.port}"
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.ws_connect(base + LOG, protocols=["binary.k8s.io"]) as socket:
            data = b"".join([message.data async for message in socket])
        assert (data, socket.close_code) == (LINES, 1000)
        url = f"{base}{MAPS}?watch=1&timeoutSeconds=1"
        async with session.ws_connect(url, origin="http://a") as socket:
            found = [json.loads(message.data)["type"] async for message in socket]
        assert (found, socket.close_code) == ([], 1000)
