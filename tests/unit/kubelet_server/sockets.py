"""Connections' two ends in memory: what the server's sessions see, and a client to drive them."""

from __future__ import annotations

import asyncio

from aiohttp import WSMessage, WSMsgType


class MemorySocket:
    """The server's end. ``sent`` holds every frame; ``client_*`` is what the other side does."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed_with: int | None = None
        self._incoming: asyncio.Queue[WSMessage] = asyncio.Queue()
        self._sent = asyncio.Event()

    async def receive(self) -> WSMessage:
        return await self._incoming.get()

    async def send_bytes(self, data: bytes) -> None:
        if self.closed_with is not None:
            raise ConnectionResetError("closed")
        self.sent.append(data)
        self._sent.set()

    async def send_str(self, data: str) -> None:
        await self.send_bytes(data.encode())

    async def close(self, *, code: int = 1000, message: bytes = b"") -> bool:
        self.closed_with = code
        return True

    def client_sends(self, *frames: bytes) -> None:
        for frame in frames:
            self._incoming.put_nowait(WSMessage(WSMsgType.BINARY, frame, None))

    def client_leaves(self) -> None:
        self._incoming.put_nowait(WSMessage(WSMsgType.CLOSE, 1001, None))

    async def until_sent(self, count: int) -> None:
        while len(self.sent) < count:
            self._sent.clear()
            await self._sent.wait()

    @property
    def waiting(self) -> int:
        """Frames that the server has not taken yet."""
        return self._incoming.qsize()


class MemoryConnection:
    """The server's end of a raw connection."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False
        self._incoming: asyncio.Queue[bytes] = asyncio.Queue()

    async def receive(self) -> bytes:
        return await self._incoming.get()

    async def send(self, data: bytes) -> None:
        if self.closed:
            raise ConnectionResetError("closed")
        self.sent.append(data)

    async def close(self) -> None:
        self.closed = True

    def arrives(self, data: bytes) -> None:
        self._incoming.put_nowait(data)

    def ends(self) -> None:
        self._incoming.put_nowait(b"")
