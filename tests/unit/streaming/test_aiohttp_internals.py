"""Ends of server connections."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from aiohttp import web

from podling.apiserver.auth.pki import Pki
from podling.streaming.aiohttp_internals import ServerConnection

HERE = "127.0.0.1"


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="served")


@pytest.mark.asyncio(loop_factories=["real"])
async def test_server_ends_whose_tls_connection_asyncio_has_closed(tmp_path: Path) -> None:
    """After the second ``close`` of a TLS transport asyncio forgets all about it."""
    pki = Pki(tmp_path)
    pair = pki.server("apiserver", [HERE])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    manager, made, lost = web.Server(answer), list[ServerConnection](), asyncio.Event()

    def connected() -> ServerConnection:
        made.append(ServerConnection(manager, lost.set))
        return made[-1]

    server = await asyncio.get_running_loop().create_server(connected, HERE, 0, ssl=context)
    trusted = ssl.create_default_context(cafile=str(pki.ca.certificate))
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection(HERE, port, ssl=trusted, server_hostname=HERE)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await reader.readuntil(b"served")
    (connection,) = made
    transport = connection.transport
    assert transport is not None
    transport.close()
    transport.close()
    await connection.shutdown(timeout=1.0)
    assert await reader.read() == b""
    writer.transport.abort()
    server.close()
    async with asyncio.timeout(60):
        await lost.wait()
        await server.wait_closed()
