"""Every way in which an exec, attach or port-forward connection ends also ends its process or stream."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest

from podling import clock
from podling.api.meta_v1 import Status
from podling.kubelet.server.carriers import EARLY_MAX, SpdyCarrier, WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME, exit_status
from podling.kubelet.server.port_forward import PortForward
from podling.kubelet.server.remote_command import RemoteCommand, StreamOptions
from podling.kubelet.server.spdy_tunnel import PAIRS_MAX, Tunnel
from podling.runtime.base import Streams
from podling.streaming.spdy import Data, Decoder, Encoder, GoAway, Reset, SynStream
from podling.streaming.spdy_connection import SpdyConnection
from podling.streaming.websocket import MESSAGE_MAX
from tests.support.websocket_frames import client_frame, server_frames
from tests.unit.kubelet.server.sockets import MemoryConnection, MemorySocket

ALL = StreamOptions(stdin=True, stdout=True, stderr=True)
V5 = BY_NAME["v5.channel.k8s.io"]
Send = Callable[[bytes], Awaitable[None]]


class Process:
    """A process that takes a while to be killed, and notes that it was."""

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.killed = False

    async def run(self, streams: Streams) -> Status:
        await self._live()
        return exit_status(0, ["sleep"])

    async def forward(self, port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
        await self._live()

    async def _live(self) -> None:
        self.running.set()
        try:
            await asyncio.Event().wait()
        finally:
            await clock.sleep(0.5)
            self.killed = True


async def over(connection: MemoryConnection, session: asyncio.Task[None], process: Process) -> None:
    """Check that the session ends with its process, even when its own task is cancelled once more."""
    await clock.sleep(0.1)
    session.cancel()
    await asyncio.wait((session,), timeout=60)
    assert session.done()
    assert process.killed
    assert connection.closed


def spdy_garbage(encoder: Encoder) -> bytes:
    """Return a header block, compressed correctly, with a name that is not UTF-8."""
    compressor = encoder._headers
    plain = struct.pack(">II", 1, 2) + b"\xff\xfe" + struct.pack(">I", 1) + b"x"
    block = compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return struct.pack(">HHI", 0x8003, 1, 10 + len(block)) + struct.pack(">IIH", 99, 0, 0) + block


WEBSOCKET_ENDS: Mapping[str, tuple[bytes, int | None]] = {
    "the connection is lost": (b"", 1000),
    "a close frame": (client_frame(8, b"\x03\xe8"), 1000),
    "a frame without a mask": (client_frame(2, b"\x00x", mask=None), 1002),
    "a frame of 1 TiB": (client_frame(2, b"", length=1 << 40), 1009),
    "a close signal of a channel that is missing": (client_frame(2, b"\xff"), 1000),
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", 1002),
}


@pytest.mark.parametrize(("sent", "code"), WEBSOCKET_ENDS.values(), ids=WEBSOCKET_ENDS.keys())
@pytest.mark.parametrize("kind", ["exec", "port-forward"])
async def test_websocket_end_ends_the_process(kind: str, sent: bytes, code: int) -> None:
    socket, process = MemorySocket(), Process()
    if kind == "exec":
        serving = RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(process.run, failed="failed")
    else:
        carrier = WebSocketCarrier(socket.server, V5, whole=frozenset())
        serving = PortForward(carrier, (80,), process.forward, "pod").serve()
    session = asyncio.create_task(serving)
    await process.running.wait()
    socket.connection.arrives(sent)
    await over(socket.connection, session, process)
    assert socket.closed_with == code


SPDY_ENDS: Mapping[str, Callable[[Encoder], bytes]] = {
    "the connection is lost": lambda encoder: b"",
    "a goodbye": lambda encoder: encoder.encode(GoAway()),
    "a header that is not UTF-8": spdy_garbage,
    "another version": lambda encoder: b"\x80\x02\x00\x01\x00\x00\x00\x00",
    "a stream twice": lambda encoder: encoder.encode(SynStream(1)),
    "a control frame of 16 MB": lambda encoder: struct.pack(">HHI", 0x8003, 1, (1 << 24) - 1),
}


@pytest.mark.parametrize("end", SPDY_ENDS.values(), ids=SPDY_ENDS.keys())
@pytest.mark.parametrize("kind", ["exec", "port-forward"])
async def test_spdy_end_ends_the_process(kind: str, end: Callable[[Encoder], bytes]) -> None:
    connection, process, encoder = MemoryConnection(), Process(), Encoder()
    if kind == "exec":
        carrier = SpdyCarrier(SpdyConnection(connection), 4)
        serving = RemoteCommand(carrier, ALL).serve(process.run, failed="failed")
        opened = [{"streamtype": name} for name in ("error", "stdin", "stdout", "stderr")]
    else:
        serving = Tunnel(SpdyConnection(connection), process.forward, "pod").serve()
        common = {"port": "80", "requestid": "0"}
        opened = [common | {"streamtype": name} for name in ("error", "data")]
    session = asyncio.create_task(serving)
    for number, headers in enumerate(opened):
        connection.arrives(encoder.encode(SynStream(2 * number + 1, headers)))
    await process.running.wait()
    connection.arrives(end(encoder))
    await over(connection, session, process)


async def test_protocol_errors_are_answered_with_goaway() -> None:
    connection = MemoryConnection()
    connection.arrives(b"\x80\x02\x00\x01\x00\x00\x00\x00")
    await Tunnel(SpdyConnection(connection), Process().forward, "pod").serve()
    assert Decoder().feed(b"".join(connection.writes)) == [GoAway(0, 1)]


async def test_status_and_close_frame_are_one_write() -> None:
    """httpx2's reader thread uses a closed descriptor again if two writes send them."""

    async def run(streams: Streams) -> Status:
        return exit_status(0, ["true"])

    socket = MemorySocket()
    socket.client_leaves()
    await RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(run, failed="failed")
    (status, close) = server_frames(socket.connection.writes[-1])
    assert status[1].startswith(b"\x03{")
    assert close == (8, b"\x03\xe8")


async def test_client_without_a_close_frame_is_closed_after_a_second() -> None:
    async def run(streams: Streams) -> Status:
        return exit_status(0, ["true"])

    socket, began = MemorySocket(), clock.monotonic()
    await RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(run, failed="failed")
    assert (clock.monotonic() - began, socket.connection.closed) == (1, True)


async def test_operating_system_error_is_reported_to_the_client() -> None:
    async def run(streams: Streams) -> Status:
        raise OSError(24, "Too many open files")

    socket = MemorySocket()
    await RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(run, failed="error executing")
    assert b"error executing: [Errno 24] Too many open files" in socket.sent[-1]


async def test_data_before_all_streams_is_limited() -> None:
    process, connection, encoder = Process(), MemoryConnection(), Encoder()
    connection.arrives(encoder.encode(SynStream(1, {"streamtype": "stdin"})))
    for _ in range(100):
        connection.arrives(encoder.encode(Data(1, bytes(EARLY_MAX // 10))))
    carrier = SpdyCarrier(SpdyConnection(connection), 4)
    await RemoteCommand(carrier, ALL).serve(process.run, failed="failed")
    assert connection.closed
    assert connection.waiting > 80
    assert not process.running.is_set()


async def test_data_of_streams_that_were_never_opened_is_not_kept() -> None:
    connection, encoder = MemoryConnection(), Encoder()
    carrier = SpdyCarrier(SpdyConnection(connection), 4)
    for _ in range(100):
        connection.arrives(encoder.encode(Data(99, bytes(EARLY_MAX // 10))))
    for number, kind in enumerate(("error", "stdin", "stdout", "stderr")):
        connection.arrives(encoder.encode(SynStream(2 * number + 1, {"streamtype": kind})))
    await carrier.open(frozenset(range(4)))
    assert not carrier._early


async def test_sizes_of_a_terminal_that_is_none_are_not_kept() -> None:
    process, socket = Process(), MemorySocket()
    command = RemoteCommand(WebSocketCarrier(socket.server, V5), ALL)
    session = asyncio.create_task(command.serve(process.run, failed="failed"))
    socket.client_sends(*(b'\x04{"Width":80,"Height":24}' for _ in range(1000)))
    await process.running.wait()
    await clock.sleep(1)
    assert not command._sizes
    socket.connection.ends()
    await session


async def test_one_long_message_waits_for_a_command_that_does_not_read() -> None:
    """The message is passed on in chunks; it is not collected until its end."""
    process, socket = Process(), MemorySocket()
    session = asyncio.create_task(
        RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(process.run, failed="failed")
    )
    socket.connection.arrives(client_frame(2, b"\x00", length=MESSAGE_MAX))
    for _ in range(100):
        socket.connection.arrives(bytes(16384))
    await clock.sleep(1)
    assert socket.waiting > 50
    socket.connection.ends()
    session.cancel()
    await asyncio.wait((session,))
    assert process.killed


@pytest.mark.parametrize("kind", ["exec", "channels", "tunnel"])
async def test_client_that_vanishes_is_noticed_while_its_data_waits(kind: str) -> None:
    """The connection is not read then, so its end is not read either."""
    process, socket, encoder = Process(), MemorySocket(), Encoder()
    if kind == "exec":
        serving = RemoteCommand(WebSocketCarrier(socket.server, V5), ALL).serve(process.run, failed="failed")
    elif kind == "channels":
        carrier = WebSocketCarrier(socket.server, V5, whole=frozenset())
        serving = PortForward(carrier, (80,), process.forward, "pod").serve()
    else:
        serving = Tunnel(SpdyConnection(socket.connection), process.forward, "pod").serve()
        for number, name in enumerate(("error", "data")):
            headers = {"streamtype": name, "port": "80", "requestid": "0"}
            socket.connection.arrives(encoder.encode(SynStream(2 * number + 1, headers)))
    session = asyncio.create_task(serving)
    await process.running.wait()
    for _ in range(100):
        sent = client_frame(2, b"\x00data") if kind != "tunnel" else encoder.encode(Data(3, b"data"))
        socket.connection.arrives(sent)
    await clock.sleep(1)
    assert socket.waiting > 50
    socket.connection.vanishes()
    await over(socket.connection, session, process)


async def test_connections_of_one_tunnel_are_bounded() -> None:
    process, connection, encoder = Process(), MemoryConnection(), Encoder()
    session = asyncio.create_task(Tunnel(SpdyConnection(connection), process.forward, "pod").serve())
    number = 0
    for request in range(PAIRS_MAX + 1):
        for kind in ("error", "data"):
            headers = {"streamtype": kind, "port": "80", "requestid": str(request)}
            connection.arrives(encoder.encode(SynStream(2 * number + 1, headers)))
            number += 1
    await clock.sleep(1)
    frames = Decoder().feed(b"".join(connection.writes))
    refused = [frame for frame in frames if isinstance(frame, Reset)]
    assert [(frame.stream, frame.status) for frame in refused] == [(2 * number - 3, 3), (2 * number - 1, 3)]
    connection.ends()
    await session


async def test_half_open_connection_times_out_after_thirty_seconds() -> None:
    connection, encoder = MemoryConnection(), Encoder()
    session = asyncio.create_task(Tunnel(SpdyConnection(connection), Process().forward, "pod").serve())
    headers = {"streamtype": "error", "port": "80", "requestid": "0"}
    connection.arrives(encoder.encode(SynStream(1, headers)))
    await clock.sleep(31)
    assert Reset(1) in Decoder().feed(b"".join(connection.writes))
    connection.ends()
    await session
