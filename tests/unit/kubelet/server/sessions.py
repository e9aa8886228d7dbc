"""Commands, and clients of exec and attach, over connections in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from podling.api.meta_v1 import Status
from podling.kubelet.server.carriers import SpdyCarrier, WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME, Channels, exit_status
from podling.kubelet.server.remote_command import RemoteCommand, Run, StreamOptions
from podling.runtime.base import Streams
from podling.streaming.spdy import Decoder, Encoder, Frame, SynStream
from podling.streaming.spdy_connection import SpdyConnection
from tests.unit.kubelet.server.sockets import MemoryConnection, MemorySocket

V5, V4, V1 = BY_NAME["v5.channel.k8s.io"], BY_NAME["v4.channel.k8s.io"], BY_NAME["channel.k8s.io"]


ALL = StreamOptions(stdin=True, stdout=True, stderr=True)


async def serve(
    socket: MemorySocket, run: Run, options: StreamOptions = ALL, protocol: Channels = V5
) -> None:
    await RemoteCommand(WebSocketCarrier(socket.server, protocol), options).serve(
        run, failed="error executing command in container"
    )


def status(frame: bytes) -> dict[str, object]:
    assert frame[0] == 3
    decoded: dict[str, object] = json.loads(frame[1:])
    assert decoded.pop("metadata") == {}
    return decoded


def ends_with(code: int, command: Sequence[str] = ("true",)) -> Run:
    async def run(streams: Streams) -> Status:
        return exit_status(code, command)

    return run


async def cat(streams: Streams) -> Status:
    """Copy the input to the output, as ``cat`` does."""
    assert streams.stdin is not None
    assert streams.stdout is not None
    async for chunk in streams.stdin:
        await streams.stdout(chunk)
    return exit_status(0, ["cat"])


class SpdyClient:
    """The client's side of one command's connection."""

    def __init__(self, options: StreamOptions = ALL, version: int = 4) -> None:
        self.connection = MemoryConnection()
        self.options = options
        self.carrier = SpdyCarrier(SpdyConnection(self.connection), version)
        self._encoder, self._decoder = Encoder(), Decoder()

    def send(self, *frames: Frame) -> None:
        for frame in frames:
            self.connection.arrives(self._encoder.encode(frame))

    def opens(self, *kinds: str) -> None:
        """Open streams in this order, as 1, 3, 5 and so on."""
        self.send(*(SynStream(2 * number + 1, {"streamtype": kind}) for number, kind in enumerate(kinds)))

    async def serve(self, run: Run) -> list[Frame]:
        """Serve the command and return every frame of the response."""
        failed = "error executing command in container"
        await RemoteCommand(self.carrier, self.options).serve(run, failed=failed)
        return self._decoder.feed(b"".join(self.connection.writes))
