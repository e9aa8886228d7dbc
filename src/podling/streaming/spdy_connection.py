"""A SPDY connection's frames over raw bytes, with pings answered."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from podling.streaming.spdy import Decoder, Encoder, Frame, GoAway, Ping, SpdyError
from podling.streaming.upgrades import ClientConnection

PROTOCOL_ERROR = 1


class SpdyConnection:
    """A server's end."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._decoder = Decoder()
        self._encoder = Encoder()
        self._sending = asyncio.Lock()

    async def receive(self) -> list[Frame]:
        """Return the next frames. Raises ``ConnectionError`` at the end, ``SpdyError`` for malformed ones."""
        chunk = await self._connection.receive()
        if not chunk:
            raise ConnectionResetError("the client is gone")
        try:
            frames = self._decoder.feed(chunk)
        except SpdyError:
            with suppress(ConnectionError):
                await self.send(GoAway(status=PROTOCOL_ERROR))
            raise
        pings = [frame for frame in frames if isinstance(frame, Ping)]
        if pings:
            await self.send(*(ping for ping in pings if ping.id % 2))  # ours would be even, and we send none
        return [frame for frame in frames if not isinstance(frame, Ping)]

    async def send(self, *frames: Frame) -> None:
        """Send ``frames`` in one write; wait while the client is behind. Raises ``ConnectionError``."""
        if frames:
            async with self._sending:
                await self._connection.send(b"".join(map(self._encoder.encode, frames)))

    async def left(self) -> None:
        """Wait until the client has gone, also while nothing is received."""
        await self._connection.left()

    async def close(self) -> None:
        await self._connection.close()
