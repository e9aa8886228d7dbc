"""Connections that begin as HTTP/1.1 and go on as something else: WebSockets, or the SPDY of older clients.

A server takes its connection over with ``accept_upgrade`` once the request has been answered with 101, and
``open_upgrade`` requests the same as a client. Both give a ``RawConnection``: bytes in and bytes out.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from aiohttp import web
from yarl import URL

from podling import clock, turns
from podling.machinery.numbers import is_number
from podling.streaming.aiohttp_internals import drain_of, take_over
from podling.streaming.hangup import HangupWatch

BUFFERED_MAX = 256 * 1024
"""Bytes that wait for us before the peer has to."""
HEAD_MAX = 64 * 1024
READ = 64 * 1024
CLOSE_SECONDS = 1.0
KEEPALIVE_SECONDS = 15
SMALL = 4 * 1024
"""Chunks below this size, as of terminals, are sent without waiting for a turn."""
COST = 16
"""A streamed byte counts as so many of an answer's: each chunk takes a task, a frame and TLS both ways."""
SLICE = 16 * 1024
"""Bytes that are handed on at once, before others get a turn: they may be very many small frames."""


class RawConnection(Protocol):
    """Bytes both ways."""

    async def receive(self) -> bytes:
        """Return the next bytes, as they come; empty at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send, and wait while the peer is behind. Raises ``ConnectionError`` when it is gone."""
        ...

    async def close(self) -> None: ...


class ClientConnection(RawConnection, Protocol):
    """A server's end of a connection to a client."""

    async def left(self) -> None:
        """Wait until the client has gone, also while nothing is received, or until nothing moves any more."""
        ...


class UpgradeRefused(Exception):
    """The server answered something else than 101."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"{status}: {body[:200].decode(errors='replace')}")
        self.status = status
        self.headers = headers
        self.body = body


class _Taken:
    """A connection taken over from aiohttp, which hands us what comes in as to any payload parser."""

    def __init__(self, request: web.BaseRequest, idle_seconds: float) -> None:
        if request.transport is None:
            raise ConnectionResetError("the client is gone")
        self._idle_seconds = idle_seconds
        self._active = clock.machine_monotonic()
        self._drain = drain_of(request)
        self._transport = request.transport
        self._chunks: deque[memoryview] = deque()
        self._buffered = 0
        self._changed = asyncio.Event()
        self._ended = False
        self._gone = asyncio.Event()
        connection = request.transport.get_extra_info("socket")
        _keep_alive(connection)
        self._hangup = HangupWatch(connection.fileno(), self._gone.set)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._chunks.append(memoryview(bytes(data)))
        self._buffered += len(data)
        self._active = clock.machine_monotonic()
        if self._buffered > BUFFERED_MAX:
            self._transport.pause_reading()
        self._changed.set()
        return False, b""

    def feed_eof(self) -> None:
        self._ended = True
        self._gone.set()
        self._changed.set()
        self._hangup.close()

    async def receive(self) -> bytes:
        if self._chunks:
            await clock.sleep(0)
        while not self._chunks:
            if self._ended or self._transport.is_closing():
                return b""
            self._changed.clear()
            await self._changed.wait()
        first = self._chunks.popleft()
        if len(first) > SLICE:
            self._chunks.appendleft(first[SLICE:])
        chunk = bytes(first[:SLICE])
        self._buffered -= len(chunk)
        if self._buffered <= BUFFERED_MAX and not self._transport.is_closing():
            self._transport.resume_reading()
        return chunk

    async def left(self) -> None:
        while not self._gone.is_set():
            rest = self._active + self._idle_seconds - clock.machine_monotonic()
            if rest <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(rest if rest < float("inf") else None):
                    await self._gone.wait()

    async def send(self, data: bytes) -> None:
        await _turn(data)
        if self._transport.is_closing():
            raise ConnectionResetError("the client is gone")
        self._transport.write(data)
        await self._drain()
        self._active = clock.machine_monotonic()

    async def close(self) -> None:
        self._hangup.close()
        self._transport.close()


async def accept_upgrade(
    request: web.BaseRequest,
    protocol: str,
    headers: Mapping[str, str],
    *,
    idle_seconds: float = float("inf"),
) -> tuple[web.StreamResponse, ClientConnection]:
    """Answer 101 and take the connection over; the handler returns the response when all is done.

    A client of whom nothing moves for ``idle_seconds`` has left.
    """
    response = web.StreamResponse(
        status=101, headers={"Connection": "Upgrade", "Upgrade": protocol, **headers}
    )
    response.force_close()
    await response.prepare(request)
    taken = _Taken(request, idle_seconds)
    take_over(request, taken)
    return response, taken


async def _turn(data: bytes) -> None:
    """Wait for a turn of the loop: very many streams that move at once must leave some for other requests."""
    if len(data) >= SMALL:
        await turns.take(len(data) * COST)


class _Opened:
    """A connection that we opened."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes:
        try:
            return await self._reader.read(READ)
        except ConnectionError:
            return b""

    async def send(self, data: bytes) -> None:
        await _turn(data)
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Close; a peer that does not take what is left within a second is cut off."""
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._writer.wait_closed()
        except TimeoutError:
            _reset(self._writer.transport)
        except OSError:
            return


def _reset(transport: asyncio.WriteTransport) -> None:
    """Reset a connection: without that, its end would wait behind data that the peer does not read."""
    with suppress(OSError):
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    transport.abort()


def _keep_alive(connection: socket.socket) -> None:
    """Find out within minutes, as Go's servers do, that a silent peer does not exist any more."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
            if hasattr(socket, option):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), KEEPALIVE_SECONDS)


async def open_upgrade(
    url: str,
    context: ssl.SSLContext | None,
    protocol: str,
    headers: Sequence[tuple[str, str]],
    *,
    method: str = "POST",
    server_name: str | None = None,
) -> tuple[dict[str, str], RawConnection]:
    """Request an upgrade to ``protocol``. Return the response's headers (in lower case).

    ``server_name``: the name in the server's certificate, if not the URL's host. Raises ``UpgradeRefused``
    with the response's body, ``OSError`` without a response.
    """
    target = URL(url, encoded=True)
    reader, writer = await asyncio.open_connection(
        target.host, target.port, ssl=context, server_hostname=server_name, limit=HEAD_MAX
    )
    lines = [
        f"{method} {target.raw_path_qs} HTTP/1.1",
        f"Host: {target.raw_host}:{target.port}",
        "Connection: Upgrade",
        f"Upgrade: {protocol}",
        "Content-Length: 0",
        *(f"{name}: {text}" for name, text in headers),
    ]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        parted = (line.partition(":") for line in head[1:] if line)
        answer = {name.strip().lower(): text.strip() for name, _, text in parted}
        if status != 101:
            raise UpgradeRefused(status, answer, await _body(reader, answer))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
        writer.close()
        raise ConnectionError(f"no HTTP answer: {error}") from error
    except BaseException:
        writer.close()
        raise
    return answer, _Opened(reader, writer)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """Return the body of a refusal, which servers send with its length."""
    length = headers.get("content-length", "0")
    return await reader.readexactly(min(int(length), HEAD_MAX)) if is_number(length) else b""
