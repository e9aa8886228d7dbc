"""Port-forward as kubectl does it: a SPDY/3.1 connection, today inside of a WebSocket, before by itself.

The client opens two streams for each connection it accepts, one for errors and one for data, which
share a ``requestid`` and name the pod's ``port``. Data flows both ways until either side ends; then both
streams are closed, the error stream with a text if something went wrong
(``k8s.io/cri-streaming/pkg/streaming/portforward``). Streams are numbered by the client, oddly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import WSMsgType

from podling.client.upgrades import RawConnection
from podling.kubelet.carriers import Socket
from podling.kubelet.pipe import Pipe
from podling.kubelet.port_forward import Forward, failure_text
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
from podling.runtime.failures import RuntimeFailure

logger = logging.getLogger(__name__)

PROTOCOL = "portforward.k8s.io"
TUNNELLED = "SPDY/3.1+" + PROTOCOL
"""What a WebSocket that carries it is called."""
QUEUE_LENGTH = 64
"""Chunks that wait for one connection; beyond that the client has to wait."""


@dataclass(slots=True)
class _Pair:
    """The streams of one forwarded connection; 0 for one that is not there yet."""

    port: int
    error: int = 0
    data: int = 0
    inbound: Pipe = field(default_factory=lambda: Pipe(QUEUE_LENGTH))
    task: asyncio.Task[None] | None = None


class Tunnel:
    """One client's tunnel."""

    def __init__(self, connection: RawConnection, forward: Forward, pod: str) -> None:
        self._connection = connection
        self._forward = forward
        self._pod = pod
        self._decoder = Decoder()
        self._encoder = Encoder()
        self._sending = asyncio.Lock()
        self._pairs: dict[str, _Pair] = {}
        self._by_data: dict[int, _Pair] = {}

    async def serve(self) -> None:
        """Carry connections until the client leaves or does not speak SPDY."""
        try:
            while chunk := await self._connection.receive():
                for frame in self._decoder.feed(chunk):
                    if isinstance(frame, GoAway):
                        return
                    await self._take(frame)
        except ProtocolError as error:
            logger.warning("port-forward: %s", error)
        finally:
            tasks = [pair.task for pair in self._pairs.values() if pair.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(ConnectionError):
                await self._connection.close()

    async def _take(self, frame: Frame) -> None:
        match frame:
            case SynStream(stream, headers, fin):
                await self._open(stream, headers)
                self._ended(stream, fin)
            case Data(stream, content, fin):
                if content and (pair := self._data_of(stream)) is not None:
                    await pair.inbound.put(content)
                self._ended(stream, fin)
            case Reset(stream):
                await self._reset(stream)
            case Ping(id) if id % 2:  # ours would be even, and we send none
                await self._send(Ping(id))

    async def _open(self, stream: int, headers: Mapping[str, str]) -> None:
        kind, port, request = (headers.get(name, "") for name in ("streamtype", "port", "requestid"))
        if kind not in ("error", "data") or not port.isdigit() or not 0 < int(port) < 65536:
            await self._send(Reset(stream))
            return
        pair = self._pairs.setdefault(request, _Pair(int(port)))
        if (pair.error if kind == "error" else pair.data) != 0:
            await self._send(Reset(stream))
            return
        if kind == "error":
            pair.error = stream
        else:
            pair.data = stream
            self._by_data[stream] = pair
        await self._send(SynReply(stream))
        if pair.error and pair.data:
            pair.task = asyncio.create_task(self._carry(request, pair))

    def _data_of(self, stream: int) -> _Pair | None:
        """The connection that ``stream`` carries data of; error streams are only ours to write to."""
        return self._by_data.get(stream)

    def _ended(self, stream: int, fin: bool) -> None:
        pair = self._data_of(stream)
        if fin and pair is not None:
            pair.inbound.end()

    async def _reset(self, stream: int) -> None:
        """The client gives a connection up; it still waits for the end of the error stream."""
        pair = self._data_of(stream)
        if pair is None or pair.task is None:
            return
        pair.task.cancel()
        await asyncio.gather(pair.task, return_exceptions=True)
        await self._send(Data(pair.error, b"", fin=True))

    async def _carry(self, request: str, pair: _Pair) -> None:
        async def send(chunk: bytes) -> None:
            await self._send(Data(pair.data, chunk))

        text = ""
        try:
            await self._forward(pair.port, pair.inbound, send)
        except RuntimeFailure as error:
            text = failure_text(pair.port, self._pod, error)
        except ConnectionError:
            return  # the client is gone
        finally:
            pair.inbound.close()
            self._by_data.pop(pair.data, None)
            self._pairs.pop(request, None)
        await self._send(Data(pair.data, b"", fin=True))
        await self._send(Data(pair.error, text.encode(), fin=True))

    async def _send(self, frame: Frame) -> None:
        async with self._sending:
            await self._connection.send(self._encoder.encode(frame))


class WebSocketBytes:
    """A WebSocket's binary messages as a stream of bytes: where one ends means nothing."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    async def receive(self) -> bytes:
        while True:
            message = await self._socket.receive()
            if message.type is not WSMsgType.BINARY:
                return b""
            if message.data:
                data: bytes = message.data
                return data

    async def send(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def close(self) -> None:
        await self._socket.close()
