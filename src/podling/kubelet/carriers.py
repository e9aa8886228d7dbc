"""How one command's channels travel: as frames of a WebSocket, or as streams of a SPDY connection.

A ``Carrier`` hides which it is. Channels have the WebSocket protocol's numbers in both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from aiohttp import WSMessage, WSMsgType

from podling.client.upgrades import RawConnection
from podling.kubelet.channels import CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, Channels
from podling.kubelet.spdy import (
    Data,
    Decoder,
    Encoder,
    Frame,
    GoAway,
    Ping,
    ProtocolError,
    Reset,
    SynReply,
    SynStream,
)

STREAMS_SECONDS = 30.0
"""streamCreationTimeout: how long a SPDY client may take to open the streams it asked for."""
KINDS = {"error": ERROR, "stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "resize": RESIZE}


class Socket(Protocol):
    """The server's end of a WebSocket."""

    async def receive(self) -> WSMessage: ...

    async def send_bytes(self, data: bytes) -> None: ...

    async def send_str(self, data: str) -> None: ...

    async def close(self, *, code: int = 1000, message: bytes = b"") -> bool: ...


class Carrier(Protocol):
    """One client's channels."""

    @property
    def version(self) -> int:
        """The version of the protocol, which decides what the error channel says."""
        ...

    async def open(self, channels: frozenset[int]) -> None:
        """Make ``channels`` ready. Raises ``ConnectionError`` when the client does not go along."""
        ...

    def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        """Channel and data as they come, until the client leaves; no data: it is done with the channel."""
        ...

    async def send(self, channel: int, data: bytes) -> None:
        """Raises ``ConnectionError`` when the client is gone."""
        ...

    async def close(self) -> None: ...


class WebSocketCarrier:
    """Channels as the first byte of each frame."""

    def __init__(self, socket: Socket, protocol: Channels) -> None:
        self._socket = socket
        self._protocol = protocol
        self._sending = asyncio.Lock()

    @property
    def version(self) -> int:
        return self._protocol.version

    async def open(self, channels: frozenset[int]) -> None:
        """An empty frame on the lowest channel that we write to tells that the streams are open."""
        await self.send(min(channels & {STDOUT, STDERR, ERROR}), b"")

    async def send(self, channel: int, data: bytes) -> None:
        frame = self._protocol.encode(channel, data)
        async with self._sending:
            if self._protocol.base64:
                await self._socket.send_str(frame.decode())
            else:
                await self._socket.send_bytes(frame)

    async def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        """What is no frame is dropped, as the reference server does."""
        while True:
            message = await self._socket.receive()
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            frame = message.data.encode() if message.type is WSMsgType.TEXT else message.data
            try:
                channel, data = self._protocol.decode(frame)
            except ValueError:
                continue
            if channel == CLOSE and self._protocol.version >= 5:
                if data:
                    yield data[0], None
            elif data:
                yield channel, data

    async def close(self) -> None:
        await self._socket.close()


class SpdyCarrier:
    """Channels as streams that the client opens, each named by its ``streamtype`` header."""

    def __init__(self, connection: RawConnection, version: int) -> None:
        self._connection = connection
        self._version = version
        self._decoder = Decoder()
        self._encoder = Encoder()
        self._sending = asyncio.Lock()
        self._streams: dict[int, int] = {}
        self._early: list[Frame] = []

    @property
    def version(self) -> int:
        return self._version

    async def open(self, channels: frozenset[int]) -> None:
        """Wait for the client to open them all; what it sends meanwhile is kept."""
        missing = set(channels)
        try:
            async with asyncio.timeout(STREAMS_SECONDS):
                while missing:
                    for frame in await self._receive():
                        if isinstance(frame, SynStream):
                            missing.discard(await self._accept(frame))
                        self._early.append(frame)
        except (TimeoutError, ProtocolError) as error:
            raise ConnectionError(f"the client did not open its streams: {error}") from error

    async def send(self, channel: int, data: bytes) -> None:
        if data and (stream := self._stream(channel)):
            await self._send(Data(stream, data))

    async def incoming(self) -> AsyncIterator[tuple[int, bytes | None]]:
        frames = self._early
        try:
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
                frames = await self._receive()
        except (ConnectionError, ProtocolError):
            return

    async def close(self) -> None:
        """End our halves of the streams: the client reads each of them to its end."""
        for channel in (STDOUT, STDERR, ERROR):
            if stream := self._stream(channel):
                await self._send(Data(stream, b"", fin=True))
        await self._connection.close()

    def _stream(self, channel: int) -> int:
        return next((stream for stream, carried in self._streams.items() if carried == channel), 0)

    async def _accept(self, frame: SynStream) -> int:
        """Take a stream in; returns its channel, or -1 where it has no meaning."""
        channel = KINDS.get(frame.headers.get("streamtype", ""), -1)
        if channel < 0 or self._stream(channel):
            await self._send(Reset(frame.stream))
            return -1
        self._streams[frame.stream] = channel
        await self._send(SynReply(frame.stream))
        return channel

    async def _receive(self) -> list[Frame]:
        chunk = await self._connection.receive()
        if not chunk:
            raise ConnectionResetError("the client is gone")
        frames = self._decoder.feed(chunk)
        for frame in frames:
            if isinstance(frame, Ping) and frame.id % 2:  # ours would be even, and we send none
                await self._send(frame)
        return frames

    async def _send(self, frame: Frame) -> None:
        async with self._sending:
            await self._connection.send(self._encoder.encode(frame))
