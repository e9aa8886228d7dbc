"""Connections that break in the middle: quiet disconnects, not errors of the server."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.over_tls import Running, running_over_tls

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running_over_tls(tmp_path) as running:
        yield running


async def encrypted(server: Running) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, ssl.SSLObject]:
    """Return a TLS session made by hand, so that the test can send any bytes on its connection."""
    context = ssl.create_default_context(cafile=str(server.pki.ca.certificate))
    pair = server.pki.admin()
    context.load_cert_chain(pair.certificate, pair.key)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    reader, writer = await asyncio.open_connection("127.0.0.1", server.http.port)
    while True:
        try:
            session.do_handshake()
            break
        except ssl.SSLWantReadError:
            writer.write(outgoing.read())
            incoming.write(await reader.read(65536))
    writer.write(outgoing.read())
    session.outgoing = outgoing  # type: ignore[attr-defined]
    return reader, writer, session


async def test_bytes_that_are_no_tls_end_a_connection_quietly(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    for requests in (1, 2, 30):
        reader, writer, session = await encrypted(server)
        for _ in range(requests):
            session.write(b"GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n")
        writer.write(session.outgoing.read() + b"\x81\x02hi GET / HTTP/1.1\r\n\r\n")  # type: ignore[attr-defined]
        async with asyncio.timeout(10):
            while await reader.read(65536):
                pass
        writer.close()
    async with server.admin() as client, client.get("/api/v1/nodes") as response:
        assert response.status == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
