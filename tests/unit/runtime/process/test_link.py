"""The connection to a container's monitor, against a socket that plays the monitor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.process.link import HEADER, PATH_MAX, Channel, Link, connect, frame

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def monitor(directory: Path, play: Play) -> AsyncIterator[None]:
    """Serve one connection to ``directory``'s socket with ``play``, and wait for its end."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await play(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()
            over.set()

    server = await asyncio.start_unix_server(serve, directory / "control")
    yield
    await over.wait()
    server.close()
    await server.wait_closed()


async def read_order(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    header = await reader.readexactly(HEADER)
    return chr(header[0]), await reader.readexactly(int.from_bytes(header[1:], "big"))


async def test_frame_is_kind_length_and_payload() -> None:
    assert frame("S", b"15") == b"S\x00\x00\x00\x0215"
    assert frame("R") == b"R\x00\x00\x00\x00"


async def test_channel_ends_at_an_incomplete_frame(tmp_path: Path) -> None:
    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frame("O", b"whole") + frame("O", b"cut off")[:-3])

    async with monitor(tmp_path, play):
        channel = await Channel.open(tmp_path)
        assert [received async for received in channel] == [("O", b"whole")]
        channel.close()


async def test_order_returns_on_reply_and_raises_the_monitors_error(tmp_path: Path) -> None:
    seen = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in (frame("K"), frame("E", b"no such signal")):
            seen.append(await read_order(reader))
            writer.write(reply)
        await reader.read()

    ends: list[str] = []
    async with monitor(tmp_path, play):
        link = await Link.open(tmp_path, lambda: ends.append("end"))
        await link.order("S", b"15")
        with pytest.raises(RuntimeFailure, match=r"^no such signal$"):
            await link.order("S", b"99")
        await link.close()
    assert seen == [("S", b"15"), ("S", b"99")]
    assert ends == []


async def test_end_of_monitor_answers_open_orders_and_is_reported_once(tmp_path: Path) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_order(reader)
        writer.write(frame("X"))

    ends: list[str] = []
    async with monitor(tmp_path, play):
        link = await Link.open(tmp_path, lambda: ends.append("end"))
        await link.order("S", b"9")
        await link.order("S", b"9")
    assert ends == ["end"]


async def test_connect_reaches_sockets_with_long_paths(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * PATH_MAX)
    deep.mkdir()
    (tmp_path / "link").symlink_to(deep)

    async def play(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    with pytest.raises(FileNotFoundError):
        connect(deep)
    async with monitor(tmp_path / "link", play):
        connection = connect(deep)
        assert connection.getpeername()
        connection.close()
