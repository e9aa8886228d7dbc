"""Connections and packets through listeners, over real sockets of the loopback interface."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import cast

import pytest

from podling.network.loopback.places import Opening, Place, Target
from podling.network.loopback.tcp import TcpListener
from podling.network.loopback.udp import UdpListener

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

HOST = "127.0.0.1"


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def echoing(name: bytes) -> AsyncIterator[Target]:
    """Run a server that answers with its name and with everything up to the client's end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name + await reader.read())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        yield (HOST, server.sockets[0].getsockname()[1])
    finally:
        server.close()


@asynccontextmanager
async def tcp(*targets: Target, affinity_seconds: int = 0) -> AsyncIterator[tuple[TcpListener, int]]:
    port = free_port()
    listener = TcpListener(Place(HOST, port, "TCP"), Opening(targets, affinity_seconds))
    await listener.open()
    try:
        yield listener, port
    finally:
        await listener.close()


async def exchanged(port: int, data: bytes = b"") -> bytes:
    """Send ``data``, end the own half, and return all that comes back."""
    reader, writer = await asyncio.open_connection(HOST, port)
    with closing(writer):
        writer.write(data)
        writer.write_eof()
        return await reader.read()


async def test_connection_is_carried_until_both_halves_ended() -> None:
    large = bytes(3_000_000)
    async with echoing(b"a") as endpoint, tcp(endpoint) as (_, port):
        assert await exchanged(port, large) == b"a" + large


async def test_connections_go_to_endpoints_in_turn() -> None:
    async with echoing(b"a") as one, echoing(b"b") as other, tcp(one, other) as (_, port):
        assert [await exchanged(port) for _ in range(4)] == [b"a", b"b", b"a", b"b"]


async def test_client_stays_with_its_endpoint() -> None:
    async with echoing(b"a") as one, echoing(b"b") as other, tcp(one, other, affinity_seconds=9) as (_, port):
        assert [await exchanged(port) for _ in range(4)] == [b"a"] * 4


async def test_endpoint_that_refuses_is_passed_over() -> None:
    async with echoing(b"a") as endpoint, tcp((HOST, free_port()), endpoint) as (_, port):
        assert await exchanged(port) == b"a"


async def test_without_an_endpoint_that_answers_the_connection_is_reset() -> None:
    async with tcp((HOST, free_port())) as (_, port):
        with pytest.raises(ConnectionResetError):
            await exchanged(port)


async def test_change_of_endpoints_leaves_open_connections_alone() -> None:
    async with echoing(b"a") as one, echoing(b"b") as other, tcp(one) as (listener, port):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"x")
        await writer.drain()
        assert await exchanged(port) == b"a"  # the first connection has reached its endpoint, too
        listener.change(Opening((other,)))
        assert await exchanged(port) == b"b"
        writer.write_eof()
        assert await reader.read() == b"ax"
        writer.close()


async def test_place_in_use_is_an_error() -> None:
    async with tcp((HOST, 1)) as (_, port):
        with pytest.raises(OSError, match="in use"):
            await TcpListener(Place(HOST, port, "TCP"), Opening(((HOST, 1),))).open()


class Echo(asyncio.DatagramProtocol):
    def __init__(self, name: bytes) -> None:
        self.name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(self.name + data, addr)


@asynccontextmanager
async def udp_echoing(name: bytes) -> AsyncIterator[Target]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: Echo(name), (HOST, 0))
    try:
        yield transport.get_extra_info("sockname")
    finally:
        transport.close()


class Client:
    """A UDP client with a port of its own."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.connect((HOST, port))

    async def __call__(self, data: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self.socket, data)
        async with asyncio.timeout(10):
            return await loop.sock_recv(self.socket, 65536)


@asynccontextmanager
async def udp(*targets: Target) -> AsyncIterator[tuple[UdpListener, int]]:
    port = free_port(socket.SOCK_DGRAM)
    listener = UdpListener(Place(HOST, port, "UDP"), Opening(targets))
    await listener.open()
    try:
        yield listener, port
    finally:
        await listener.close()


async def test_packets_of_a_client_go_to_one_endpoint_and_answers_back() -> None:
    async with udp_echoing(b"a") as one, udp_echoing(b"b") as other, udp(one, other) as (_, port):
        first, second = Client(port), Client(port)
        with first.socket, second.socket:
            assert [await first(b"1"), await second(b"2"), await first(b"3")] == [b"a1", b"b2", b"a3"]


async def test_client_of_vanished_endpoint_gets_another() -> None:
    async with udp_echoing(b"a") as one, udp_echoing(b"b") as other, udp(one) as (listener, port):
        client = Client(port)
        with client.socket:
            assert await client(b"1") == b"a1"
            listener.change(Opening((other,)))
            assert await client(b"2") == b"b2"
