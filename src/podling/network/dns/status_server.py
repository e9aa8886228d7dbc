"""The HTTP server of cluster DNS: ``/metrics``, ``/health`` and ``/ready``, as CoreDNS has them.

CoreDNS has a port for each of them; here one has all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from podling.network.dns.sources import Sources

SECONDS_MAX = 5.0
REQUEST_BYTES_MAX = 16384
CONNECTIONS_MAX = 32
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Page = Callable[[], Awaitable[bytes]]


class StatusServer:
    """Answers GET and HEAD, one request for each connection.

    Args:
        is_ready: whether the cluster's names are known.
    """

    def __init__(self, metrics: Page, is_ready: Callable[[], bool], sources: Sources) -> None:
        self._metrics, self._is_ready, self._sources = metrics, is_ready, sources
        self._servers: list[asyncio.Server] = []
        self._open = 0

    async def serve(self, listener: socket.socket) -> None:
        self._servers.append(
            await asyncio.start_server(self._connected, sock=listener, limit=REQUEST_BYTES_MAX)
        )

    def close(self) -> None:
        for server in self._servers:
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = (writer.get_extra_info("peername") or ("",))[0]
        if not peer or not self._sources.allows(peer) or self._open >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        self._open += 1
        try:
            with suppress(OSError, EOFError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SECONDS_MAX):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._response(head.split(b"\r\n", 1)[0].decode("latin-1")))
                    await writer.drain()
        finally:
            self._open -= 1
            writer.close()

    async def _response(self, line: str) -> bytes:
        method, _, rest = line.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        status, body, kind = await self._answer(method, path)
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == "HEAD" else body)

    async def _answer(self, method: str, path: str) -> tuple[str, bytes, str]:
        plain = "text/plain; charset=utf-8"
        if method not in ("GET", "HEAD"):
            return "405 Method Not Allowed", b"", plain
        if path == "/metrics":
            return "200 OK", await self._metrics(), METRICS_TYPE
        if path == "/health":
            return "200 OK", b"OK", plain
        if path == "/ready":
            if self._is_ready():
                return "200 OK", b"OK", plain
            return "503 Service Unavailable", b"kubernetes", plain
        return "404 Not Found", b"404 page not found\n", plain
