"""Carriers of channels: WebSocket messages and SPDY streams."""

from __future__ import annotations

import json

import pytest

from podling import clock
from podling.kubelet.server.remote_command import StreamOptions
from podling.streaming.spdy import Data, Ping, Reset, SynReply
from tests.unit.kubelet.server.sessions import SpdyClient, cat, ends_with, serve
from tests.unit.kubelet.server.sockets import MemorySocket


@pytest.mark.parametrize(
    ("options", "greeting"),
    [
        (StreamOptions(stdin=True, stdout=True, stderr=True), b"\x01"),
        (StreamOptions(stdin=True, stderr=True), b"\x02"),
        (StreamOptions(stdin=True), b"\x03"),
    ],
)
async def test_empty_frame_shows_that_the_streams_are_open(options: StreamOptions, greeting: bytes) -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(0), options)
    assert socket.sent[0] == greeting


# SPDY, which clients use that are older than the WebSocket protocol.


async def test_spdy_client_opens_a_stream_for_each_channel() -> None:
    client = SpdyClient()
    client.opens("error", "stdin", "stdout", "stderr")
    client.send(Data(3, b"input"), Data(3, b"", fin=True))
    frames = await client.serve(cat)
    assert frames[:5] == [*map(SynReply, (1, 3, 5, 7)), Data(5, b"input")]
    error = frames[5]
    assert isinstance(error, Data)
    assert error.stream == 1
    assert json.loads(error.content)["status"] == "Success"
    assert frames[6:] == [Data(stream, b"", fin=True) for stream in (5, 7, 1)]
    assert client.connection.closed


async def test_spdy_before_version_four_sends_only_the_error_text() -> None:
    client = SpdyClient(StreamOptions(stdout=True), version=2)
    client.opens("error", "stdout")
    frames = await client.serve(ends_with(1, ["false"]))
    text = b"command terminated with non-zero exit code: error executing command [false], exit code 1"
    assert Data(1, text) in frames


async def test_spdy_client_that_opens_no_streams_times_out() -> None:
    client = SpdyClient()
    client.opens("error", "stdout", "nonsense", "stdout")
    client.send(Ping(7))
    began = clock.monotonic()
    frames = await client.serve(ends_with(0))
    assert clock.monotonic() - began == 30
    assert frames[:5] == [SynReply(1), SynReply(3), Reset(5), Reset(7), Ping(7)]
    assert client.connection.closed
