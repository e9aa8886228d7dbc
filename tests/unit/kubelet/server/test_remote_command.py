"""Sessions of exec and attach over WebSocket and SPDY."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.api.meta_v1 import Status
from podling.kubelet.server.channels import exit_status
from podling.kubelet.server.remote_command import StreamOptions
from podling.runtime.base import RuntimeFailure, Streams
from podling.streaming.spdy import Data, Frame, GoAway
from tests.unit.kubelet.server.sessions import V4, SpdyClient, cat, ends_with, serve, status
from tests.unit.kubelet.server.sockets import MemorySocket


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


async def test_exit_code_is_a_cause_of_failure() -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(3, ["sh", "-c", "exit 3"]))
    assert status(socket.sent[-1]) == {
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": "command terminated with non-zero exit code: "
        "error executing command [sh -c exit 3], exit code 3",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_runtime_failure_is_an_internal_error() -> None:
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


async def test_half_close_needs_version_five() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(serve(socket, cat, protocol=V4))
    socket.client_sends(b"\x00text", b"\xff\x00")
    await socket.until_sent(2)
    await clock.sleep(3600)
    assert not serving.done()
    socket.client_leaves()
    await serving
    assert socket.sent == [b"\x01", b"\x01text"]


async def test_command_ends_with_its_client() -> None:
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


async def test_terminal_has_sizes_and_no_stderr() -> None:
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


async def test_command_that_does_not_read_slows_its_client() -> None:
    """A limited amount of input waits in memory; the rest waits in the connection."""
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
    ("options", "problem"),
    [
        (StreamOptions(), "you must specify at least 1 of stdin, stdout, stderr"),
        (StreamOptions(stderr=True, tty=True), "tty and stderr cannot both be true"),
        (StreamOptions(stdout=True), ""),
    ],
)
def test_invalid_stream_options_are_refused(options: StreamOptions, problem: str) -> None:
    assert options.problem() == problem


# SPDY, which clients use that are older than the WebSocket protocol.


async def test_spdy_terminal_has_a_size_stream_from_version_three() -> None:
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


@pytest.mark.parametrize("farewell", [GoAway(), None])
async def test_command_ends_with_its_spdy_client(farewell: Frame | None) -> None:
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
