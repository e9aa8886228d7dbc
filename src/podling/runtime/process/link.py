"""Our end of the socket to a container's monitor; its frames are described in ``runtime.monitor``."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from podling.runtime.base import RuntimeFailure

logger = logging.getLogger(__name__)

PATH_MAX = 100
"""Longest socket path used as it is; the kernel's limit is 108 bytes on Linux, 104 on macOS."""
HEADER = 5


def connect(directory: Path) -> socket.socket:
    """Return a socket to the monitor that serves ``directory``; raises ``OSError`` when none does."""
    path = directory / "control"
    connection = socket.socket(socket.AF_UNIX)
    try:
        if len(os.fsencode(path)) <= PATH_MAX or sys.platform != "linux":
            connection.connect(str(path))
        else:  # a way around the limit: the directory by its descriptor
            descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
            try:
                connection.connect(f"/proc/self/fd/{descriptor}/control")
            finally:
                os.close(descriptor)
    except OSError:
        connection.close()
        raise
    connection.setblocking(False)
    return connection


def frame(kind: str, payload: bytes = b"") -> bytes:
    return kind.encode() + len(payload).to_bytes(4, "big") + payload


class Channel:
    """One connection as a sequence of frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, directory: Path, command: Sequence[int] = (), first: bytes = b"") -> Channel:
        """Connect; ``first`` is a frame sent along with the descriptors ``command``."""
        connection = connect(directory)
        if first:
            socket.send_fds(connection, [first], list(command))
        return cls(*await asyncio.open_unix_connection(sock=connection))

    async def send(self, kind: str, payload: bytes = b"") -> None:
        self._writer.write(frame(kind, payload))
        await self._writer.drain()

    async def receive(self) -> tuple[str, bytes] | None:
        """Return the next frame, or None when the monitor has gone."""
        try:
            header = await self._reader.readexactly(HEADER)
            payload = await self._reader.readexactly(int.from_bytes(header[1:], "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return chr(header[0]), payload

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        while (received := await self.receive()) is not None:
            yield received

    def close(self) -> None:
        self._writer.close()


class Link:
    """The lasting connection to one monitor: orders go out, the container's end is noticed.

    ``on_end`` is called once, when the monitor has left ``exit.json`` behind or is gone without it.
    """

    def __init__(self, channel: Channel, on_end: Callable[[], None]) -> None:
        self._channel = channel
        self._on_end = on_end
        self._replies: deque[asyncio.Future[None]] = deque()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, directory: Path, on_end: Callable[[], None]) -> Link:
        return cls(await Channel.open(directory), on_end)

    async def order(self, kind: str, payload: bytes = b"") -> None:
        """Have an order carried out; nothing happens when the container is over. Raises
        ``RuntimeFailure`` with the monitor's words."""
        if self._reading.done():
            return
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._replies.append(reply)
        try:
            await self._channel.send(kind, payload)
        except ConnectionError:
            return
        await reply

    async def _read(self) -> None:
        try:
            await self._read_replies()
        except Exception:
            # A monitor that cannot be understood is as good as gone: nothing may wait for it.
            logger.exception("the connection to a monitor broke")
        for reply in self._replies:
            if not reply.done():
                reply.set_result(None)
        self._channel.close()
        self._on_end()

    async def _read_replies(self) -> None:
        async for kind, payload in self._channel:
            if kind == "X":
                return
            reply = self._replies.popleft()
            if reply.done():
                continue  # its caller was cancelled
            if kind == "E":
                reply.set_exception(RuntimeFailure(payload.decode()))
            else:
                reply.set_result(None)

    async def close(self) -> None:
        """Let go of the monitor, which goes on."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._channel.close()


def command_frame(command: Sequence[str], *, tty: bool) -> bytes:
    return frame("C", json.dumps({"command": list(command), "tty": tty}).encode())
