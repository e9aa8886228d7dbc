"""kubectl's port-forward: a SPDY/3.1 connection, inside a WebSocket or (in older versions) by itself.

The client opens two streams for each connection it accepts, one for errors and one for data, which
share a ``requestid`` and name the pod's ``port``. Data flows both ways until either side ends; then both
streams are closed, the error stream with a text after a failure
(``k8s.io/cri-streaming/pkg/streaming/portforward``). The client's streams have odd numbers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from podling.cancellation import cancel_and_settle, run_to_end
from podling.kubelet.server.carriers import STREAMS_SECONDS
from podling.kubelet.server.pipe import Pipe
from podling.kubelet.server.port_forward import Forward, failure_text
from podling.runtime.failures import RuntimeFailure
from podling.streaming.spdy import REFUSED, Data, Frame, GoAway, Reset, SpdyError, SynReply, SynStream
from podling.streaming.spdy_connection import SpdyConnection
from podling.streaming.websocket_connection import WebSocket

logger = logging.getLogger(__name__)

PROTOCOL = "portforward.k8s.io"
TUNNELLED = "SPDY/3.1+" + PROTOCOL
"""The name of the WebSocket protocol that carries it."""
QUEUE_LENGTH = 16
"""The limit of chunks that wait for one connection; at the limit the client has to wait."""
PAIRS_MAX = 256
"""The limit of connections that one client may have open; more are refused."""


@dataclass(slots=True)
class _Pair:
    """The streams of one forwarded connection; 0 for a stream that is not open yet."""

    request: str
    port: int
    error: int = 0
    data: int = 0
    inbound: Pipe = field(default_factory=lambda: Pipe(QUEUE_LENGTH))
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Tunnel:
    """The tunnel of one client."""

    def __init__(self, connection: SpdyConnection, forward: Forward, pod: str) -> None:
        self._connection = connection
        self._forward = forward
        self._pod = pod
        self._pairs: dict[str, _Pair] = {}
        self._by_data: dict[int, _Pair] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def serve(self) -> None:
        """Forward connections until the client leaves or violates the SPDY protocol."""
        sessions = [asyncio.create_task(self._read()), asyncio.create_task(self._connection.left())]
        try:
            done, _ = await asyncio.wait(sessions, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await run_to_end(self._end(sessions))

    async def _read(self) -> None:
        try:
            while True:
                for frame in await self._connection.receive():
                    if isinstance(frame, GoAway):
                        return
                    await self._handle_frame(frame)
        except SpdyError as error:
            logger.info("port-forward: %s", error)
        except ConnectionError:
            return

    async def _end(self, sessions: Sequence[asyncio.Task[None]]) -> None:
        """End all connections into the pod and then the client's, however often the caller is cancelled."""
        await cancel_and_settle(*sessions)
        await cancel_and_settle(*self._tasks)
        await self._connection.close()

    async def _handle_frame(self, frame: Frame) -> None:
        match frame:
            case SynStream(stream, headers, fin):
                await self._open(stream, headers)
                self._mark_end(stream, fin)
            case Data(stream, content, fin):
                if content and (pair := self._by_data.get(stream)) is not None:
                    await pair.inbound.put(content)
                self._mark_end(stream, fin)
            case Reset(stream):
                await self._reset(stream)

    async def _open(self, stream: int, headers: Mapping[str, str]) -> None:
        kind, port, request = (headers.get(name, "") for name in ("streamtype", "port", "requestid"))
        if kind not in ("error", "data") or not _is_port(port):
            await self._connection.send(Reset(stream))
            return
        pair = self._pairs.get(request)
        if pair is None:
            if len(self._tasks) >= PAIRS_MAX:
                await self._connection.send(Reset(stream, REFUSED))
                return
            pair = self._pairs[request] = _Pair(request, int(port))
            pair.task = asyncio.create_task(self._carry(pair))
            self._tasks.add(pair.task)
            pair.task.add_done_callback(self._tasks.discard)
        if (pair.error if kind == "error" else pair.data) != 0:
            await self._connection.send(Reset(stream))
            return
        if kind == "error":
            pair.error = stream
        else:
            pair.data = stream
            self._by_data[stream] = pair
        await self._connection.send(SynReply(stream))
        if pair.error and pair.data:
            pair.complete.set()

    def _mark_end(self, stream: int, fin: bool) -> None:
        """End the input of a data stream; the end of an error stream has no meaning."""
        pair = self._by_data.get(stream)
        if fin and pair is not None:
            pair.inbound.end()

    async def _reset(self, stream: int) -> None:
        """End a connection that the client resets; it still waits for the end of the error stream."""
        pair = self._by_data.get(stream)
        if pair is None or pair.task is None or not pair.error:
            return
        await cancel_and_settle(pair.task)
        self._forget(pair)
        await self._connection.send(Data(pair.error, b"", fin=True))

    def _forget(self, pair: _Pair) -> None:
        pair.inbound.close()
        self._by_data.pop(pair.data, None)
        self._pairs.pop(pair.request, None)

    async def _carry(self, pair: _Pair) -> None:
        try:
            frames = await self._forward_pair(pair)
        except ConnectionError:
            return  # the client is gone
        finally:
            self._forget(pair)
        with suppress(ConnectionError):
            await self._connection.send(*frames)

    async def _forward_pair(self, pair: _Pair) -> list[Frame]:
        """Forward a connection once both streams are open; return the frames that end it."""
        try:
            async with asyncio.timeout(STREAMS_SECONDS):
                await pair.complete.wait()
        except TimeoutError:
            return [Reset(stream) for stream in (pair.error, pair.data) if stream]

        async def send(chunk: bytes) -> None:
            await self._connection.send(Data(pair.data, chunk))

        text = ""
        try:
            await self._forward(pair.port, pair.inbound, send)
        except ConnectionError:
            raise
        except (RuntimeFailure, OSError) as error:
            text = failure_text(pair.port, self._pod, error)
        return [Data(pair.data, b"", fin=True), Data(pair.error, text.encode(), fin=True)]


def _is_port(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= 5 and 0 < int(text) < 65536


class WebSocketBytes:
    """A WebSocket's binary messages as a stream of bytes, ignoring the ends of messages."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        while True:
            part = await self._socket.receive()
            if part is None:
                return b""
            if part.data:
                return part.data

    async def left(self) -> None:
        await self._socket.left()

    async def send(self, data: bytes) -> None:
        await self._socket.send(data)

    async def close(self) -> None:
        await self._socket.close()
