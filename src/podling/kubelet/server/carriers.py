"""Carriers of one command's channels: WebSocket messages, or streams of a SPDY connection.

A ``Carrier`` hides the difference. Channels have the WebSocket protocol's numbers in both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Protocol

from podling.kubelet.server.channels import ERROR, RESIZE, STDERR, STDIN, STDOUT, ChannelReader, Channels
from podling.streaming.spdy import Data, Frame, GoAway, Reset, SpdyError, SynReply, SynStream
from podling.streaming.spdy_connection import SpdyConnection
from podling.streaming.websocket_connection import WebSocket

STREAMS_SECONDS = 30.0
"""streamCreationTimeout: the time a SPDY client has to open its streams."""
EARLY_MAX = 256 * 1024
"""The limit of bytes that a SPDY client may send before it has opened all of its streams."""
FRAME_COST = 256
"""The bytes that a kept frame counts in addition to its content."""
CLOSE_SECONDS = 5.0
"""The time a client has to read the last frames."""
KINDS = {"error": ERROR, "stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "resize": RESIZE}


class Carrier(Protocol):
    """The channels of one client."""

    @property
    def version(self) -> int:
        """The version of the protocol, which decides the content of the error channel."""
        ...

    async def open(self, channels: frozenset[int]) -> None:
        """Prepare ``channels``. Raises ``ConnectionError`` when the client does not open them."""
        ...

    def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        """Yield channel and data until the client leaves; None for data: it has closed the channel."""
        ...

    async def left(self) -> None:
        """Wait until the client has gone, also while ``incoming`` is not being read."""
        ...

    async def send(self, channel: int, data: bytes) -> None:
        """Send data on a channel. Raises ``ConnectionError`` when the client is gone."""
        ...

    async def close(self, status: bytes = b"") -> None:
        """Send ``status`` on the error channel, if there is any, and end the connection."""
        ...


class WebSocketCarrier:
    """Channels over a WebSocket, as the first byte of each message.

    Args:
        whole: channels whose messages must not be split.
    """

    def __init__(
        self, socket: WebSocket, protocol: Channels, whole: frozenset[int] = frozenset((RESIZE,))
    ) -> None:
        self._socket = socket
        self._protocol = protocol
        self._reader = ChannelReader(protocol, whole)

    @property
    def version(self) -> int:
        return self._protocol.version

    async def open(self, channels: frozenset[int]) -> None:
        """Send an empty message on the lowest channel to the client: the streams are open."""
        await self.send(min(channels & {STDOUT, STDERR, ERROR}), b"")

    async def left(self) -> None:
        await self._socket.left()

    async def send(self, channel: int, data: bytes) -> None:
        await self._socket.send(self._protocol.encode(channel, data), text=self._protocol.base64)

    async def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        with suppress(ConnectionError):
            while (part := await self._socket.receive()) is not None:
                for channel, data in self._reader.read(part):
                    yield channel, data

    async def close(self, status: bytes = b"") -> None:
        messages = [self._protocol.encode(ERROR, status)] if status else []
        await self._socket.close(*messages, text=self._protocol.base64)


class SpdyCarrier:
    """Channels over SPDY, as streams that the client opens with a ``streamtype`` header."""

    def __init__(self, connection: SpdyConnection, version: int) -> None:
        self._connection = connection
        self._version = version
        self._streams: dict[int, int] = {}
        self._early: list[Data] = []

    @property
    def version(self) -> int:
        return self._version

    async def open(self, channels: frozenset[int]) -> None:
        """Wait for the client to open them all; keep a little of its early data."""
        missing, kept = set(channels), 0
        try:
            async with asyncio.timeout(STREAMS_SECONDS):
                while missing:
                    for frame in await self._connection.receive():
                        if isinstance(frame, SynStream):
                            missing.discard(await self._accept(frame))
                        elif isinstance(frame, GoAway):
                            raise ConnectionResetError("the client leaves")
                        elif isinstance(frame, Data) and frame.stream in self._streams:
                            self._early.append(frame)
                            kept += len(frame.content) + FRAME_COST
                        if kept > EARLY_MAX:
                            raise SpdyError("too much data before the streams are open")
        except TimeoutError as error:
            raise ConnectionError("the client did not open its streams in time") from error

    async def left(self) -> None:
        await self._connection.left()

    async def send(self, channel: int, data: bytes) -> None:
        if data and (stream := self._stream(channel)):
            await self._connection.send(Data(stream, data))

    async def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        frames: Sequence[Frame] = self._early
        with suppress(ConnectionError):
            while True:
                for frame in frames:
                    if isinstance(frame, GoAway):
                        return
                    if not isinstance(frame, Data) or frame.stream not in self._streams:
                        continue
                    if frame.content:
                        yield self._streams[frame.stream], frame.content
                    if frame.fin:
                        yield self._streams[frame.stream], None
                frames = await self._connection.receive()

    async def close(self, status: bytes = b"") -> None:
        """End the server's halves of the streams: the client reads each of them to its end."""
        streams = {channel: self._stream(channel) for channel in (STDOUT, STDERR, ERROR)}
        ends = [Data(stream, b"", fin=True) for stream in streams.values() if stream]
        if status and streams[ERROR]:
            ends.insert(0, Data(streams[ERROR], status))
        try:
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._connection.send(*ends)
        finally:
            await self._connection.close()

    def _stream(self, channel: int) -> int:
        return next((stream for stream, carried in self._streams.items() if carried == channel), 0)

    async def _accept(self, frame: SynStream) -> int:
        """Accept a stream; return its channel, or -1 if its type is unknown."""
        channel = KINDS.get(frame.headers.get("streamtype", ""), -1)
        if channel < 0 or self._stream(channel):
            await self._connection.send(Reset(frame.stream))
            return -1
        self._streams[frame.stream] = channel
        await self._connection.send(SynReply(frame.stream))
        return channel
