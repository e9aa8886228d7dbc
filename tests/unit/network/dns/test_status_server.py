"""The HTTP pages of cluster DNS, on a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from podling.network.dns.sources import Sources
from podling.network.dns.status_server import REQUEST_BYTES_MAX, StatusServer

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


async def figures() -> bytes:
    return b"figures\n"


class Pages:
    """A server with a page of figures, which may be ready or not."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self.is_ready = True
        self.server = StatusServer(figures, lambda: self.is_ready, Sources(networks))
        self.port = 0

    async def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        await self.server.serve(listener)

    async def send(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        try:
            return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        response = await self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head, _, body = response.decode().partition("\r\n\r\n")
        return int(head.split()[1]), body


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    pages = Pages(())
    await pages.start()
    yield pages
    pages.server.close()


async def test_pages_are_served(pages: Pages) -> None:
    assert await pages.get("/health") == (200, "OK")
    assert await pages.get("/ready") == (200, "OK")
    assert await pages.get("/metrics") == (200, "figures\n")
    assert await pages.get("/metrics?name=x") == (200, "figures\n")
    assert await pages.get("/other") == (404, "404 page not found\n")
    assert await pages.get("/health", "POST") == (405, "")
    assert await pages.get("/health", "HEAD") == (200, "")


async def test_server_is_not_ready_before_the_records_are_whole(pages: Pages) -> None:
    pages.is_ready = False
    assert await pages.get("/ready") == (503, "kubernetes")
    assert await pages.get("/health") == (200, "OK")


async def test_nonsense_ends_its_connection_only(pages: Pages) -> None:
    for request in (b"\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n"):
        assert b" 405 " in await pages.send(request) or b" 404 " in await pages.send(request)
    try:
        assert await pages.send(b"x" * (REQUEST_BYTES_MAX + 100)) == b""
    except ConnectionError:
        assert (await pages.get("/health"))[0] == 200
    assert await pages.get("/health") == (200, "OK")
