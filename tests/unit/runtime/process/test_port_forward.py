"""Connections of the process runtime to ports of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.process.port_forward import forward

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_forward_carries_both_directions_and_half_closes() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The server replies after the client's end of file only.
        writer.write((await reader.read(-1)).upper())
        writer.close()

    received = bytearray()

    async def send(chunk: bytes) -> None:
        received.extend(chunk)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        await forward(["127.0.0.1"], port, chunks(b"one ", b"two"), send)
    assert bytes(received) == b"ONE TWO"


async def test_forward_tries_hosts_in_order() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"second")
        writer.close()

    received = bytearray()

    async def send(chunk: bytes) -> None:
        received.extend(chunk)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        await forward(["127.0.0.3", "127.0.0.1"], port, chunks(), send)
    assert bytes(received) == b"second"


async def test_forward_to_closed_port_names_the_port() -> None:
    async def send(_: bytes) -> None:
        raise AssertionError("no bytes were expected")

    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(RuntimeFailure, match=f"^failed to connect to port {port} inside the pod: "):
        await forward(["127.0.0.1"], port, chunks(), send)
