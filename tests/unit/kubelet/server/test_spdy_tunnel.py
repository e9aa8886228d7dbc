"""Port-forward through a SPDY connection inside a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from podling import clock
from podling.kubelet.server.spdy_tunnel import Tunnel, WebSocketBytes
from podling.streaming.spdy import (
    Data,
    Decoder,
    Encoder,
    Frame,
    GoAway,
    Ping,
    Reset,
    SynReply,
    SynStream,
)
from podling.streaming.spdy_connection import SpdyConnection
from tests.unit.kubelet.server.forwarding import Send, echo
from tests.unit.kubelet.server.sockets import MemorySocket

# The tunnel


class TunnelClient:
    """kubectl's side of a tunnel."""

    def __init__(self, forward: Callable[[int, AsyncIterator[bytes], Send], Awaitable[None]] = echo) -> None:
        self.socket = MemorySocket()
        self.serving = asyncio.create_task(
            Tunnel(SpdyConnection(WebSocketBytes(self.socket.server)), forward, "pod").serve()
        )
        self._encoder, self._decoder = Encoder(), Decoder()
        self._read = 0
        self.received: list[Frame] = []

    def send(self, *frames: Frame) -> None:
        self.socket.client_sends(*map(self._encoder.encode, frames))

    def connect(self, request: int, port: int) -> tuple[int, int]:
        """Open the two streams of one connection, as kubectl does: error first, which it ends at once."""
        error, data = 4 * request + 1, 4 * request + 3
        common = {"port": str(port), "requestid": str(request)}
        self.send(SynStream(error, common | {"streamtype": "error"}), Data(error, b"", fin=True))
        self.send(SynStream(data, common | {"streamtype": "data"}))
        return error, data

    async def until(self, frame: Frame) -> None:
        """Read until ``frame`` has come."""
        while frame not in self.received:
            await self.socket.until_sent(self._read + 1)
            self.received += self._decoder.feed(self.socket.sent[self._read])
            self._read += 1

    async def leave(self) -> None:
        self.socket.client_leaves()
        await self.serving


async def test_connection_is_forwarded_to_its_end() -> None:
    client = TunnelClient()
    error, data = client.connect(0, 80)
    client.send(Data(data, b"hello"), Data(data, b"", fin=True))
    await client.until(Data(error, b"", fin=True))
    assert client.received == [
        SynReply(error),
        SynReply(data),
        Data(data, b"echo hello"),
        Data(data, b"", fin=True),
        Data(error, b"", fin=True),
    ]
    await client.leave()


async def test_connections_share_a_tunnel() -> None:
    client = TunnelClient()
    pairs = [client.connect(number, 80) for number in range(3)]
    for _, data in reversed(pairs):
        client.send(Data(data, b"%d" % data))
    for _, data in pairs:
        await client.until(Data(data, b"echo %d" % data))
    await client.leave()


async def test_refused_port_is_reported_on_the_error_stream() -> None:
    client = TunnelClient()
    error, data = client.connect(0, 81)
    text = b"error forwarding port 81 to pod pod, uid : connection refused"
    await client.until(Data(error, text, fin=True))
    again, _ = client.connect(1, 81)
    await client.until(Data(again, text, fin=True))
    assert Data(data, b"", fin=True) in client.received
    await client.leave()


async def test_reset_connection_ends_at_once() -> None:
    client = TunnelClient()
    error, data = client.connect(0, 80)
    client.send(Data(data, b"hello"))
    await client.until(Data(data, b"echo hello"))
    client.send(Reset(data))
    await client.until(Data(error, b"", fin=True))
    await client.leave()


async def test_connection_that_does_not_read_delays_only_its_client() -> None:
    async def deaf(port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
        await clock.sleep(10)

    client = TunnelClient(deaf)
    error, data = client.connect(0, 80)
    client.send(*(Data(data, b"x") for _ in range(500)), Ping(1))
    await client.until(Ping(1))
    assert Data(error, b"", fin=True) in client.received
    await client.leave()


async def test_spdy_pings_are_answered() -> None:
    client = TunnelClient()
    client.send(Ping(1), Ping(2), Ping(3))
    await client.until(Ping(3))
    assert client.received == [Ping(1), Ping(3)]
    await client.leave()


@pytest.mark.parametrize(
    "wrong",
    [{"streamtype": "data", "port": "x"}, {"streamtype": "other", "port": "80"}, {"streamtype": "error"}],
)
async def test_invalid_stream_is_reset(wrong: dict[str, str]) -> None:
    client = TunnelClient()
    client.send(SynStream(1, wrong))
    await client.until(Reset(1))
    await client.leave()


async def test_tunnel_closes_on_goaway_or_invalid_data() -> None:
    polite = TunnelClient()
    polite.send(GoAway())
    await polite.serving
    rude = TunnelClient()
    rude.socket.client_sends(b"\x80\x02\x00\x01\x00\x00\x00\x00")
    await rude.serving
    assert (polite.socket.closed_with, rude.socket.closed_with) == (1000, 1000)
