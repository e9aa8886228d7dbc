"""A shared socket: each process that accepts from it gets about as many connections as the others."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest
from aiohttp import web

from podling.streaming import listener
from podling.streaming.listener import Listener, listen, listen_all
from podling.streaming.shared_socket import SharedSocket


@pytest.mark.parametrize(
    ("counts", "more"),
    [([0], False), ([1], False), ([0, 0], False), ([1, 0], True), ([1, 2, 0], True), ([1, 2], False)],
)
def test_process_has_more_than_another(counts: list[int], more: bool) -> None:
    shared = SharedSocket(socket.socket(), len(counts))
    parts = [shared.of(number) for number in range(len(counts))]
    for part, count in zip(parts, counts, strict=True):
        part.note(count)
    assert parts[0].has_more is more
    for part in parts:
        part.close()
    shared.close()


def test_numbers_are_seen_by_forked_processes() -> None:
    shared = SharedSocket(socket.socket(), 2)
    child = os.fork()
    if child == 0:
        shared.of(1).note(3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    found = []
    for count in (2, 3, 4):
        shared.note(count)
        found.append(shared.has_more)
    assert found == [False, False, True]
    shared.close()


async def serving(shared: SharedSocket, taken: list[int], number: int) -> web.ServerRunner:
    """Serve on the socket as another process would: it counts its connections alone."""

    async def answer(request: web.BaseRequest) -> web.Response:
        taken[number] += 1
        return web.Response(text=str(number))

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    site = Listener(runner, "", 0)
    site.share(shared.of(number))
    await site.start()
    return runner


async def test_connections_are_spread_evenly() -> None:
    shared = SharedSocket(listen("127.0.0.1", 0), 2)
    taken = [0, 0]
    runners = [await serving(shared, taken, number) for number in range(2)]
    streams = []
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", shared.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        streams.append(writer)
    assert taken == [10, 10]
    for writer in streams:
        writer.close()
    for runner in runners:
        await runner.cleanup()
    shared.close()


async def test_connections_to_every_address_are_accepted() -> None:
    first, second = listen_all(("127.0.0.1", "127.0.0.2"), 0)
    shared = SharedSocket(first, 1, (second,))
    taken = [0]
    runner = await serving(shared, taken, 0)
    for host in ("127.0.0.1", "127.0.0.2"):
        reader, writer = await asyncio.open_connection(host, shared.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert taken == [2]
    await runner.cleanup()
    shared.close()


def test_address_that_is_taken_leaves_no_socket_open() -> None:
    with listen("127.0.0.2", 0) as taken, pytest.raises(OSError, match="in use"):
        listen_all(("127.0.0.1", "127.0.0.2"), taken.getsockname()[1])


async def test_process_alone_accepts_everything_although_it_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "PATIENCE_SECONDS", 0.001)
    shared = SharedSocket(listen("127.0.0.1", 0), 2)
    taken = [0, 0]
    runner = await serving(shared, taken, 0)
    streams = []
    for _ in range(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", shared.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        streams.append(writer)
    assert taken == [10, 0]
    for writer in streams:
        writer.close()
    await runner.cleanup()
    shared.close()
