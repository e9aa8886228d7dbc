"""Idle and slow connections: their number and time are bounded, and other clients are not affected."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from podling.streaming.connection_table import Limits
from podling.streaming.listener import Listener, Timeouts
from tests.support.over_tls import running_over_tls
from tests.support.served_here import TOKEN, serving
from tests.support.websocket_frames import client_frame

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["real", "uvloop"])]

MAPS = "/api/v1/namespaces/default/configmaps"
SOON = 20.0
"""More than any of the short times of these tests, and less than the defaults of 32 s and more."""
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Clients:
    """Connections to one server, closed at the end."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._open: list[Pair] = []

    async def connect(self, count: int = 1, source: str = HERE) -> list[Pair]:
        made = [await asyncio.open_connection(HERE, self.port, local_addr=(source, 0)) for _ in range(count)]
        self._open += made
        return made

    async def one(self, source: str = HERE) -> Pair:
        (pair,) = await self.connect(1, source)
        return pair

    def close(self) -> None:
        for _, writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def clients(**options: Any) -> AsyncIterator[Clients]:
    async with serving(TOKEN, **options) as (_, port):
        made = Clients(port)
        try:
            yield made
        finally:
            made.close()


def request(path: str = "/version", method: str = "GET", body: bytes = b"", *lines: str) -> bytes:
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: a",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Length: {len(body)}",
        *lines,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


async def answer(pair: Pair, sent: bytes | None = None) -> int:
    """Send a request and read its answer; return the status code, 0 when the server has closed."""
    reader, writer = pair
    try:
        writer.write(request() if sent is None else sent)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in head.split("\r\n") if line.startswith("content-length: "))
        await reader.readexactly(int(length.split()[1]))
        return int(head.split()[1])
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0


async def is_closed(pair: Pair) -> bool:
    """Return whether the server has closed a connection without sending anything."""
    try:
        async with asyncio.timeout(SOON):
            return await pair[0].read(1) == b""
    except ConnectionError:
        return True


async def test_oldest_idle_connections_close_for_new_ones() -> None:
    async with clients(limits=Limits(total=20)) as made:
        first = await made.connect(20)
        assert [await answer(pair) for pair in first[10:]] == [200] * 10
        new = await made.connect(15)
        assert [await answer(pair) for pair in new] == [200] * 15
        assert [await is_closed(pair) for pair in first[:15]] == [True] * 15
        assert [await answer(pair) for pair in first[15:]] == [200] * 5


async def test_busy_connections_stay_and_new_ones_are_closed() -> None:
    async with clients(limits=Limits(total=5)) as made:
        watches = await made.connect(5)
        for reader, writer in watches:
            writer.write(request(f"{MAPS}?watch=1&resourceVersion=0"))
            await reader.readuntil(b"\r\n\r\n")
        assert await answer(await made.one()) == 0
        watches[0][1].close()
        await watches[0][1].wait_closed()
        body = json.dumps({"metadata": {"name": "new"}}).encode()
        async with asyncio.timeout(SOON):
            while await answer(pair := await made.one(), request(MAPS, "POST", body)) != 201:
                pass  # the server has not noticed yet
            for reader, _ in watches[1:]:
                await reader.readuntil(b'"name":"new"')
        assert await answer(pair) == 200


async def test_one_peer_cannot_use_all_connections() -> None:
    async with clients(limits=Limits(total=20, per_peer=5)) as made:
        other = await made.connect(5)
        crowd = await made.connect(30, ELSEWHERE)
        assert [await answer(pair) for pair in crowd[-5:]] == [200] * 5
        assert [await is_closed(pair) for pair in crowd[:-5]] == [True] * 25
        assert [await answer(pair) for pair in other] == [200] * 5


@pytest.mark.parametrize("before", [b"", request()])
async def test_head_that_trickles_is_not_waited_for(before: bytes) -> None:
    async with clients(timeouts=Timeouts(head=0.5)) as made:
        reader, writer = await made.one()
        if before:
            assert await answer((reader, writer), before) == 200
        async with asyncio.timeout(SOON):
            try:
                for number in range(10_000):
                    writer.write(b"GET /" if not number else b"a")
                    await writer.drain()
                    if await _ends_within(reader, 0.02):
                        break
            except ConnectionError:
                pass
        assert await answer(await made.one()) == 200


async def _ends_within(reader: asyncio.StreamReader, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await reader.read(1) == b""
    except TimeoutError:
        return False


async def test_silent_connection_ends_like_a_trickled_head() -> None:
    async with clients(timeouts=Timeouts(head=0.5)) as made:
        assert await is_closed(await made.one())


async def test_kept_alive_connection_is_waited_for_longer_than_a_head() -> None:
    async with clients(timeouts=Timeouts(head=0.2, idle=1.5)) as made:
        pair = await made.one()
        assert await answer(pair) == 200
        assert not await _ends_within(pair[0], 0.8)
        assert await answer(pair) == 200
        assert await is_closed(pair)


async def test_request_that_takes_long_is_no_head_that_takes_long() -> None:
    async with clients(timeouts=Timeouts(head=0.2)) as made:
        reader, writer = await made.one()
        writer.write(request(f"{MAPS}?watch=1&timeoutSeconds=1"))
        async with asyncio.timeout(SOON):
            assert (await reader.readuntil(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_body_that_trickles_is_answered_with_a_timeout() -> None:
    async with clients(timeouts=Timeouts(request=0.5)) as made:
        reader, writer = await made.one()
        writer.write(request(MAPS, "POST").replace(b"Length: 0", b"Length: 100") + b"{")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 504 ")
        said = await reader.readuntil(b"}\n")
        assert json.loads(said)["message"] == (
            "Timeout: request did not complete within the allotted timeout"
        )


UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Origin: http://a",
)


@pytest.mark.parametrize(
    ("asked", "further"),
    [
        (request(f"{MAPS}/map-0"), request(f"{MAPS}/map-0")),
        (request(MAPS, "GET", b"", "Accept-Encoding: gzip"), b"G"),
        (request(MAPS), b"G"),
        (request(f"{MAPS}?watch=1"), b"G"),
        (request(f"{MAPS}?watch=1", "GET", b"", *UPGRADE), client_frame(9, b"")),
    ],
    ids=["object", "list", "list-in-pieces", "watch", "watch-over-websocket"],
)
async def test_answer_that_is_not_read_ends_its_connection(asked: bytes, further: bytes) -> None:
    """The client sends ``further`` until the server has cut it off, and reads nothing."""
    async with clients(timeouts=Timeouts(request=0.5)) as made:
        pair = await made.one()
        for number in range(12):
            data = hashlib.shake_256(bytes([number])).hexdigest(450_000)
            value = {"metadata": {"name": f"map-{number}"}, "data": {"a": data}}
            assert await answer(pair, request(MAPS, "POST", json.dumps(value).encode())) == 201
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((HERE, made.port))
        deaf.setblocking(False)
        _, writer = await asyncio.open_connection(sock=deaf, limit=1024)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(asked)
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(SOON):
                while True:
                    writer.write(further)
                    await writer.drain()
                    await asyncio.sleep(0.05)  # noqa: TID251 (the server ends it, not this loop)
        writer.transport.abort()


async def test_rest_that_is_not_read_at_the_end_is_not_waited_for() -> None:
    ended = asyncio.Event()

    async def answer_and_end(request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        transport.write(bytes(20_000_000))
        transport.close()
        ended.set()
        return web.Response()

    runner = web.ServerRunner(web.Server(answer_and_end))
    await runner.setup()
    site = Listener(runner, HERE, 0, timeouts=Timeouts(head=0.4, request=0.5))
    await site.start()
    try:
        _, writer = await asyncio.open_connection(HERE, site.port, limit=1024)
        writer.write(request())
        await ended.wait()
        assert not await _reset_within(writer, 0.2)
        assert await _reset_within(writer, SOON)
        writer.transport.abort()
    finally:
        await runner.cleanup()


async def _reset_within(writer: asyncio.StreamWriter, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            while True:
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(0.02)  # noqa: TID251 (the server ends it, not this loop)
    except ConnectionError:
        return True
    except TimeoutError:
        return False


async def test_tls_handshake_that_does_not_end_is_not_waited_for(tmp_path: Path) -> None:
    async with running_over_tls(tmp_path, timeouts=Timeouts(head=0.5)) as server:
        made = Clients(server.http.port)
        silent, begun = await made.connect(2)
        begun[1].write(b"\x16\x03\x01\x02\x00")  # the first bytes of a client's greeting
        assert [await is_closed(pair) for pair in (silent, begun)] == [True, True]
        async with server.admin() as session, session.get("/version") as response:
            assert response.status == 200
        made.close()


async def test_pending_handshakes_close_for_new_clients(tmp_path: Path) -> None:
    async with running_over_tls(tmp_path, limits=Limits(total=10)) as server:
        made = Clients(server.http.port)
        await made.connect(30)
        async with server.admin() as session, session.get("/version") as response:
            assert response.status == 200
        made.close()


async def test_stopping_ends_handshakes_and_idle_connections(tmp_path: Path) -> None:
    async with running_over_tls(tmp_path) as server:
        context = ssl.create_default_context(cafile=str(server.pki.ca.certificate))
        port = server.http.port
        greeting = await asyncio.open_connection(HERE, port)
        idle = await asyncio.open_connection(HERE, port, ssl=context, server_hostname="127.0.0.1")
        async with asyncio.timeout(SOON):
            await server.http.stop()
        assert [await is_closed(pair) for pair in (greeting, idle)] == [True, True]
        for _, writer in (greeting, idle):
            writer.transport.abort()
