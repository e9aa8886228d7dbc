"""The control socket of the DNS process: the node's process connects, gets the sockets, and sends records."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from podling import clock
from podling.network.dns.messages import Frames, FromServer, Garbage, Hello, Ping, Pong, frame, to_server
from podling.supervisor import Supervisor

logger = logging.getLogger("podling.dns")

CONTROL = "control"
_READ_BYTES = 256 * 1024
PING_BYTES_MAX = 64
"""More than the longest ``Ping``; longer messages are not decoded twice."""


class Control:
    """Listens on the Unix socket ``control`` in a directory.

    Args:
        directory: a descriptor of the directory.
        hello: what each connection begins with, beside ``sockets``.
        take: takes a frame; raises ``msgspec.MsgspecError`` for one that cannot be read.
        pinged: is called with each ``Ping``.
    """

    def __init__(
        self,
        directory: int,
        hello: Hello,
        sockets: Sequence[socket.socket],
        take: Callable[[bytes], Awaitable[None]],
        pinged: Callable[[Ping], object],
        tasks: Supervisor,
    ) -> None:
        self._directory = directory
        self._hello, self._sockets, self._tasks = hello, sockets, tasks
        self._take, self._pinged = take, pinged
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._inode = 0
        self._connections: set[socket.socket] = set()

    def listen(self) -> None:
        """Take the place of an earlier process. Raises ``OSError``."""
        place = self._directory
        fresh = f"{CONTROL}.{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=place)
        self._listener.bind(f"/proc/self/fd/{place}/{fresh}")
        self._inode = os.stat(fresh, dir_fd=place).st_ino
        self._listener.listen(8)
        os.replace(fresh, CONTROL, src_dir_fd=place, dst_dir_fd=place)

    def serve(self) -> None:
        """Accept connections, in the background."""
        self._tasks.keep_running("dns/control", self._accept)

    def is_current(self) -> bool:
        """Return whether the control socket is this process'."""
        try:
            return os.stat(CONTROL, dir_fd=self._directory).st_ino == self._inode
        except OSError:
            return False

    def is_connected(self) -> bool:
        """Return whether a node's process is connected."""
        return bool(self._connections)

    def close(self) -> None:
        for each in (*self._connections, self._listener):
            each.close()

    def send(self, message: FromServer) -> None:
        """Send a message to every connection; one that does not read loses it."""
        for connection in self._connections:
            with suppress(OSError):
                connection.send(frame(message))

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            self._tasks.run_once("dns/connection", partial(self._serve, connection))

    async def _serve(self, connection: socket.socket) -> None:
        frames = Frames()
        self._connections.add(connection)
        try:
            descriptors = [each.fileno() for each in self._sockets]
            socket.send_fds(connection, [frame(self._hello)], descriptors)
            while data := await asyncio.get_running_loop().sock_recv(connection, _READ_BYTES):
                for each in frames.feed(data):
                    await self._receive(connection, each)
                    await clock.sleep(0)
        except (OSError, Garbage, msgspec.MsgspecError) as error:
            logger.info("the connection of the node ended: %s", error)
        finally:
            self._connections.discard(connection)
            connection.close()

    async def _receive(self, connection: socket.socket, data: bytes) -> None:
        if len(data) < PING_BYTES_MAX:
            message = to_server.decode(data)
            if isinstance(message, Ping):
                self._pinged(message)
                connection.send(frame(Pong(message.number)))
                return
        await self._take(data)
