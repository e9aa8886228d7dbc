"""Port-forward: by channels, and by SPDY inside of a WebSocket as kubectl does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from podling import clock
from podling.kubelet.server.carriers import WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME, Channels
from podling.kubelet.server.port_forward import PortForward, parse_ports
from podling.kubelet.server.spdy_tunnel import Tunnel, WebSocketBytes
from podling.machinery.errors import ApiError
from podling.runtime.base import RuntimeFailure
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
from tests.unit.kubelet.server.sockets import MemorySocket

V4 = BY_NAME["v4.channel.k8s.io"]
V5 = BY_NAME["v5.channel.k8s.io"]

Send = Callable[[bytes], Awaitable[None]]


async def echo(port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
    """A pod that listens on port 80 and says everything back."""
    if port != 80:
        raise RuntimeFailure("connection refused")
    async for chunk in inbound:
        await send(b"echo " + chunk)


# Channels


def forwarding(protocol: Channels, *ports: int) -> tuple[MemorySocket, asyncio.Task[None]]:
    """A client's socket and the session that serves it."""
    socket = MemorySocket()
    carrier = WebSocketCarrier(socket.server, protocol, whole=frozenset())
    return socket, asyncio.create_task(PortForward(carrier, ports, echo, "pod").serve())


async def test_each_port_has_a_channel_for_data_and_one_for_errors() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(
        PortForward(WebSocketCarrier(socket.server, V5, frozenset()), (80, 81), echo, "pod").serve()
    )
    await socket.until_sent(5)
    assert socket.sent[:4] == [b"\x00\x50\x00", b"\x01\x50\x00", b"\x02\x51\x00", b"\x03\x51\x00"]
    assert socket.sent[4] == b"\x03error forwarding port 81 to pod pod, uid : connection refused"
    socket.client_sends(b"\x00hello", b"\x02lost", b"\x09nowhere")
    await socket.until_sent(6)
    assert socket.sent[5] == b"\x00echo hello"
    socket.client_sends(b"\xff\x00")
    await serving
    assert socket.closed_with == 1000


async def test_a_refused_port_does_not_hold_up_the_others() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(
        PortForward(WebSocketCarrier(socket.server, V4, frozenset()), (81, 80), echo, "pod").serve()
    )
    socket.client_sends(*(b"\x00%d" % number for number in range(100)), b"\x02hello")
    while b"\x02echo hello" not in socket.sent:
        await clock.sleep(0.1)
    socket.client_leaves()
    await serving


@pytest.mark.parametrize(("texts", "ports"), [(["80"], (80,)), (["80,443", "8080"], (80, 443, 8080))])
def test_ports_come_in_lists_and_in_commas(texts: list[str], ports: tuple[int, ...]) -> None:
    assert parse_ports(texts) == ports


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], 'query parameter "port" is required'),
        ([""], 'query parameter "port" cannot be empty'),
        (["80", ""], 'query parameter "port" cannot be empty'),
        (["0"], 'port "0" must be > 0'),
        (["80,0"], 'port "80,0" must be > 0'),
        (
            ["65536"],
            'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range',
        ),
        (
            ["80,http"],
            'unable to parse "80,http" as a port: strconv.ParseUint: parsing "http": invalid syntax',
        ),
        (["-1"], 'unable to parse "-1" as a port: strconv.ParseUint: parsing "-1": invalid syntax'),
    ],
)
def test_wrong_ports_are_refused_with_upstreams_message(texts: list[str], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_ports(texts)
    assert (caught.value.code, str(caught.value)) == (400, message)


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
        """Open the two streams of one connection, as kubectl does: error first, and nothing to say on it."""
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


async def test_a_connection_is_carried_to_its_end() -> None:
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


async def test_a_refused_port_is_told_on_the_error_stream() -> None:
    client = TunnelClient()
    error, data = client.connect(0, 81)
    text = b"error forwarding port 81 to pod pod, uid : connection refused"
    await client.until(Data(error, text, fin=True))
    again, _ = client.connect(1, 81)
    await client.until(Data(again, text, fin=True))
    assert Data(data, b"", fin=True) in client.received
    await client.leave()


async def test_a_connection_that_is_given_up_ends_at_once() -> None:
    client = TunnelClient()
    error, data = client.connect(0, 80)
    client.send(Data(data, b"hello"))
    await client.until(Data(data, b"echo hello"))
    client.send(Reset(data))
    await client.until(Data(error, b"", fin=True))
    await client.leave()


async def test_a_connection_that_does_not_read_holds_up_its_own_client_only_as_long_as_it_lives() -> None:
    async def deaf(port: int, inbound: AsyncIterator[bytes], send: Send) -> None:
        await clock.sleep(10)

    client = TunnelClient(deaf)
    error, data = client.connect(0, 80)
    client.send(*(Data(data, b"x") for _ in range(500)), Ping(1))
    await client.until(Ping(1))
    assert Data(error, b"", fin=True) in client.received
    await client.leave()


async def test_pings_are_answered() -> None:
    client = TunnelClient()
    client.send(Ping(1), Ping(2), Ping(3))
    await client.until(Ping(3))
    assert client.received == [Ping(1), Ping(3)]
    await client.leave()


@pytest.mark.parametrize(
    "wrong",
    [{"streamtype": "data", "port": "x"}, {"streamtype": "other", "port": "80"}, {"streamtype": "error"}],
)
async def test_a_stream_that_makes_no_sense_is_reset(wrong: dict[str, str]) -> None:
    client = TunnelClient()
    client.send(SynStream(1, wrong))
    await client.until(Reset(1))
    await client.leave()


async def test_the_tunnel_closes_when_the_client_says_goodbye_or_nonsense() -> None:
    polite = TunnelClient()
    polite.send(GoAway())
    await polite.serving
    rude = TunnelClient()
    rude.socket.client_sends(b"\x80\x02\x00\x01\x00\x00\x00\x00")
    await rude.serving
    assert (polite.socket.closed_with, rude.socket.closed_with) == (1000, 1000)
