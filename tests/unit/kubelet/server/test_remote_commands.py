"""One command over one WebSocket: streams, half-closing, resizing, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from podling import clock
from podling.api.meta_v1 import Status
from podling.kubelet.server.carriers import SpdyCarrier, WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME, Channels, exit_status
from podling.kubelet.server.remote_command import RemoteCommand, Run, StreamOptions
from podling.kubelet.server.spdy_upgrade import SPDY_VERSIONS, negotiate
from podling.machinery.errors import ApiError
from podling.runtime.base import RuntimeFailure, Streams
from podling.streaming.spdy import Data, Decoder, Encoder, Frame, GoAway, Ping, Reset, SynReply, SynStream
from podling.streaming.spdy_connection import SpdyConnection
from tests.unit.kubelet.server.sockets import MemoryConnection, MemorySocket

V5, V4, V1 = BY_NAME["v5.channel.k8s.io"], BY_NAME["v4.channel.k8s.io"], BY_NAME["channel.k8s.io"]
BASE64 = BY_NAME["v4.base64.channel.k8s.io"]
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
    """What ``cat`` does."""
    assert streams.stdin is not None
    assert streams.stdout is not None
    async for chunk in streams.stdin:
        await streams.stdout(chunk)
    return exit_status(0, ["cat"])


async def test_streams_have_channels_and_the_end_is_a_status() -> None:
    async def run(streams: Streams) -> Status:
        assert streams.stdout is not None
        assert streams.stderr is not None
        await streams.stdout(b"out")
        await streams.stderr(b"err")
        return exit_status(0, ["true"])

    socket = MemorySocket()
    await serve(socket, run)
    assert socket.sent[:3] == [b"\x01", b"\x01out", b"\x02err"]
    assert status(socket.sent[3]) == {"status": "Success"}
    assert socket.closed_with == 1000


async def test_an_exit_code_is_a_cause_of_failure() -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(3, ["sh", "-c", "exit 3"]))
    assert status(socket.sent[-1]) == {
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": "command terminated with non-zero exit code: "
        "error executing command [sh -c exit 3], exit code 3",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_what_the_runtime_cannot_do_is_an_internal_error() -> None:
    async def run(streams: Streams) -> Status:
        raise RuntimeFailure("no such command")

    socket = MemorySocket()
    await serve(socket, run)
    text = "error executing command in container: no such command"
    answer = status(socket.sent[-1])
    assert (answer["reason"], answer["code"]) == ("InternalError", 500)
    assert answer["message"] == f"Internal error occurred: {text}"


async def test_input_ends_when_the_client_closes_its_channel() -> None:
    socket = MemorySocket()
    socket.client_sends(b"\x00some ", b"\x00input", b"\xff\x00")
    await serve(socket, cat)
    assert socket.sent[1:3] == [b"\x01some ", b"\x01input"]
    assert status(socket.sent[3]) == {"status": "Success"}


async def test_before_version_five_there_is_no_half_close() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(serve(socket, cat, protocol=V4))
    socket.client_sends(b"\x00text", b"\xff\x00")
    await socket.until_sent(2)
    await clock.sleep(3600)
    assert not serving.done()
    socket.client_leaves()
    await serving
    assert socket.sent == [b"\x01", b"\x01text"]


async def test_a_command_ends_with_its_client() -> None:
    cancelled = asyncio.Event()

    async def run(streams: Streams) -> Status:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    socket = MemorySocket()
    serving = asyncio.create_task(serve(socket, run))
    await socket.until_sent(1)
    socket.client_leaves()
    await serving
    assert cancelled.is_set()


async def test_a_terminal_has_sizes_and_no_stderr() -> None:
    sizes = []

    async def run(streams: Streams) -> Status:
        assert streams.stderr is None
        assert streams.resizes is not None
        async for size in streams.resizes:
            sizes.append(size)
            if len(sizes) == 2:
                break
        return exit_status(0, ["sh"])

    socket = MemorySocket()
    socket.client_sends(b'\x04{"Width":80,"Height":24}', b"\x04nonsense", b'\x04{"Width":132,"Height":43}')
    await serve(socket, run, StreamOptions(stdin=True, stdout=True, tty=True))
    assert sizes == [(80, 24), (132, 43)]


async def test_a_command_that_does_not_read_slows_its_client() -> None:
    """Only so much input waits; the rest stays where it came from."""
    go, taken = asyncio.Event(), []

    async def run(streams: Streams) -> Status:
        assert streams.stdin is not None
        await go.wait()
        async for chunk in streams.stdin:
            taken.append(chunk)
        return exit_status(0, ["cat"])

    socket = MemorySocket()
    socket.client_sends(*(b"\x00%d" % number for number in range(100)), b"\xff\x00")
    serving = asyncio.create_task(serve(socket, run))
    await clock.sleep(1)
    assert socket.waiting > 50
    go.set()
    await serving
    assert taken == [b"%d" % number for number in range(100)]


@pytest.mark.parametrize(
    ("options", "greeting"),
    [
        (StreamOptions(stdin=True, stdout=True, stderr=True), b"\x01"),
        (StreamOptions(stdin=True, stderr=True), b"\x02"),
        (StreamOptions(stdin=True), b"\x03"),
    ],
)
async def test_an_empty_frame_tells_that_the_streams_are_open(
    options: StreamOptions, greeting: bytes
) -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(0), options)
    assert socket.sent[0] == greeting


@pytest.mark.parametrize(
    ("code", "expected"), [(0, []), (1, [b"\x03command terminated with non-zero exit code"])]
)
async def test_the_first_version_says_only_what_went_wrong(code: int, expected: list[bytes]) -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(code), protocol=V1)
    assert [frame[: len(start)] for frame, start in zip(socket.sent[1:], expected, strict=True)] == expected


async def test_the_base64_variant_is_text() -> None:
    socket = MemorySocket()
    socket.client_sends(b"0aGVsbG8=", b"0not base64!")
    serving = asyncio.create_task(serve(socket, cat, protocol=BASE64))
    await socket.until_sent(2)
    assert socket.sent[1] == b"1aGVsbG8="
    socket.client_leaves()
    await serving


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (StreamOptions(), "you must specify at least 1 of stdin, stdout, stderr"),
        (StreamOptions(stderr=True, tty=True), "tty and stderr cannot both be true"),
        (StreamOptions(stdout=True), ""),
    ],
)
def test_streams_that_make_no_sense_are_refused(options: StreamOptions, problem: str) -> None:
    assert options.problem() == problem


# The same over SPDY, as clients older than WebSockets do it


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
        """Have the command served; returns every frame that came back."""
        failed = "error executing command in container"
        await RemoteCommand(self.carrier, self.options).serve(run, failed=failed)
        return self._decoder.feed(b"".join(self.connection.writes))


async def test_a_spdy_client_opens_a_stream_for_each_channel() -> None:
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


async def test_a_spdy_terminal_has_a_stream_for_its_size_from_version_three_on() -> None:
    sizes = []

    async def run(streams: Streams) -> Status:
        assert streams.resizes is not None
        sizes.append(await anext(streams.resizes))
        return exit_status(0, ["sh"])

    client = SpdyClient(StreamOptions(stdout=True, tty=True), version=3)
    client.opens("error", "stdout", "resize")
    client.send(Data(5, b'{"Width":80,"Height":24}'))
    await client.serve(run)
    assert sizes == [(80, 24)]
    plain = SpdyClient(StreamOptions(stdout=True, tty=True), version=2)
    plain.opens("error", "stdout")
    assert Data(3, b"", fin=True) in await plain.serve(ends_with(0))


async def test_before_version_four_spdy_too_says_only_what_went_wrong() -> None:
    client = SpdyClient(StreamOptions(stdout=True), version=2)
    client.opens("error", "stdout")
    frames = await client.serve(ends_with(1, ["false"]))
    text = b"command terminated with non-zero exit code: error executing command [false], exit code 1"
    assert Data(1, text) in frames


async def test_a_spdy_client_that_does_not_open_its_streams_is_given_up() -> None:
    client = SpdyClient()
    client.opens("error", "stdout", "nonsense", "stdout")
    client.send(Ping(7))
    began = clock.monotonic()
    frames = await client.serve(ends_with(0))
    assert clock.monotonic() - began == 30
    assert frames[:5] == [SynReply(1), SynReply(3), Reset(5), Reset(7), Ping(7)]
    assert client.connection.closed


@pytest.mark.parametrize("farewell", [GoAway(), None])
async def test_a_command_ends_with_its_spdy_client(farewell: Frame | None) -> None:
    async def run(streams: Streams) -> Status:
        await asyncio.Event().wait()
        raise AssertionError

    client = SpdyClient(StreamOptions(stdout=True))
    client.opens("error", "stdout")
    if farewell is not None:
        client.send(farewell)
    else:
        client.connection.ends()
    await client.serve(run)
    assert client.connection.closed


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (["v4.channel.k8s.io", "v3.channel.k8s.io"], "v4.channel.k8s.io"),
        (["v9.channel.k8s.io", "channel.k8s.io"], "channel.k8s.io"),
        ([], ""),
    ],
)
def test_the_clients_first_choice_that_is_known_is_taken(offered: list[str], expected: str) -> None:
    assert negotiate(offered, tuple(SPDY_VERSIONS)) == expected


def test_without_a_common_protocol_there_is_no_upgrade() -> None:
    with pytest.raises(ApiError, match="unable to negotiate protocol: client supports") as caught:
        negotiate(["portforward.k8s.io"], tuple(SPDY_VERSIONS))
    assert caught.value.code == 403
