"""Connections in memory with both ends: one for the server's session, one for the test's client."""

from __future__ import annotations

import asyncio

from podling.streaming.websocket_connection import WebSocket
from tests.support.websocket_frames import client_frame, server_frames


class MemoryConnection:
    """The server's end of a raw connection. ``writes`` holds the data of each write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False
        self._incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self._written = asyncio.Event()
        self._left = asyncio.Event()

    async def left(self) -> None:
        await self._left.wait()

    def vanishes(self) -> None:
        """Close the client's end; data that it sent before is still to be read."""
        self._left.set()

    async def receive(self) -> bytes:
        return await self._incoming.get()

    async def send(self, data: bytes) -> None:
        if self.closed:
            raise ConnectionResetError("closed")
        self.writes.append(data)
        self._written.set()

    async def close(self) -> None:
        self.closed = True
        self._written.set()

    def arrives(self, data: bytes) -> None:
        self._incoming.put_nowait(data)

    def ends(self) -> None:
        self._incoming.put_nowait(b"")

    async def until_write(self) -> None:
        """Wait for the next write, or the end."""
        self._written.clear()
        await self._written.wait()

    @property
    def waiting(self) -> int:
        """Return the number of chunks that the server has not read yet."""
        return self._incoming.qsize()


class MemorySocket:
    """A WebSocket: ``server`` is the server's end, the ``client_*`` methods act for the client."""

    def __init__(self) -> None:
        self.connection = MemoryConnection()
        self.server = WebSocket(self.connection)

    @property
    def sent(self) -> list[bytes]:
        """Every message that the server sent."""
        return [data for opcode, data in server_frames(b"".join(self.connection.writes)) if opcode < 8]

    @property
    def closed_with(self) -> int | None:
        """The status of the server's close frame."""
        frames = server_frames(b"".join(self.connection.writes))
        return next((int.from_bytes(data[:2], "big") for opcode, data in frames if opcode == 8), None)

    def client_sends(self, *messages: bytes) -> None:
        for message in messages:
            self.connection.arrives(client_frame(2, message))

    def client_leaves(self) -> None:
        self.connection.arrives(client_frame(8, b"\x03\xe9"))

    async def until_sent(self, count: int) -> None:
        while len(self.sent) < count:
            await self.connection.until_write()

    @property
    def waiting(self) -> int:
        """Return the number of messages that the server has not read yet."""
        return self.connection.waiting
