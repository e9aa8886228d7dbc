"""TLS connections of a listener: few handshakes begin in each turn, and none for a silent client."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from podling.apiserver.auth.pki import Pki
from podling.streaming.handshakes import BEGUN_AT_ONCE, IN_PROGRESS_MAX
from podling.streaming.listener import Listener, Timeouts

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

HERE = "127.0.0.1"
CLIENTS = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    pki = Pki(folder)
    pair = pki.server("apiserver", [HERE])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair.certificate, pair.key)
    return server, ssl.create_default_context(cafile=str(pki.ca.certificate))


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="served")


@asynccontextmanager
async def listening(context: ssl.SSLContext, **options: Any) -> AsyncIterator[int]:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = Listener(runner, HERE, 0, ssl_context=context, **options)
    await site.start()
    try:
        yield site.port
    finally:
        await runner.cleanup()


async def served(port: int, context: ssl.SSLContext) -> bool:
    reader, writer = await asyncio.open_connection(HERE, port, ssl=context, server_hostname=HERE)
    writer.write(REQUEST)
    found = await reader.read()
    writer.transport.abort()
    return found.endswith(b"served")


async def test_many_clients_at_once_shake_hands_a_few_in_each_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = contexts(tmp_path)
    loop: Any = asyncio.get_running_loop()
    begin, begun, most = loop.connect_accepted_socket, 0, 0

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal begun, most
        if not begun:
            loop.call_soon(count)
        begun += 1
        most = max(most, begun)
        return await begin(*args, **options)

    def count() -> None:
        nonlocal begun
        begun = 0

    monkeypatch.setattr(loop, "connect_accepted_socket", counted)
    async with listening(server) as port:
        assert await asyncio.gather(*(served(port, client) for _ in range(CLIENTS))) == [True] * CLIENTS
    assert 1 <= most <= BEGUN_AT_ONCE


async def test_silent_clients_take_no_place_of_others(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    async with listening(server) as port:
        silent = [await asyncio.open_connection(HERE, port) for _ in range(CLIENTS)]
        async with asyncio.timeout(20):
            assert await served(port, client)
        for _, writer in silent:
            writer.transport.abort()


async def test_clients_that_are_silent_too_long_are_closed(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    async with listening(server, timeouts=Timeouts(head=0.4)) as port, asyncio.timeout(20):
        for _ in range(2):  # between them there is no connection to look after
            reader, writer = await asyncio.open_connection(HERE, port)
            assert await reader.read() == b""
            writer.transport.abort()
        assert await served(port, client)


async def test_client_that_leaves_before_its_greeting_leaves_nothing(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    async with listening(server) as port:
        for _ in range(CLIENTS):
            _, writer = await asyncio.open_connection(HERE, port)
            writer.transport.abort()
        async with asyncio.timeout(20):
            assert await served(port, client)


async def test_slow_clients_hold_up_others_of_their_address_for_a_moment(tmp_path: Path) -> None:
    """They begin a handshake and never go on with it."""
    server, client = contexts(tmp_path)
    async with listening(server) as port:
        slow = [await asyncio.open_connection(HERE, port) for _ in range(2 * IN_PROGRESS_MAX)]
        for _, writer in slow:
            writer.write(b"\x16\x03\x01\x02\x00")
        async with asyncio.timeout(20):
            assert await served(port, client)
        for _, writer in slow:
            writer.transport.abort()


async def test_few_handshakes_of_one_address_are_in_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = contexts(tmp_path)
    loop: Any = asyncio.get_running_loop()
    begin, running, most = loop.connect_accepted_socket, 0, 0

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await begin(*args, **options)
        finally:
            running -= 1

    monkeypatch.setattr("podling.streaming.handshake_turns.SLOW_SECONDS", 60)
    monkeypatch.setattr(loop, "connect_accepted_socket", counted)
    async with listening(server) as port:
        assert await asyncio.gather(*(served(port, client) for _ in range(CLIENTS))) == [True] * CLIENTS
    assert most == IN_PROGRESS_MAX


async def test_further_addresses_have_the_same_port(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    client.check_hostname = False
    async with listening(server, also=("127.0.0.2",)) as port:
        for host in (HERE, "127.0.0.2"):
            reader, writer = await asyncio.open_connection(host, port, ssl=client, server_hostname=HERE)
            writer.write(REQUEST)
            assert (await reader.read()).endswith(b"served")
            writer.transport.abort()
