"""Receiving a terminal from crun: a socket that it connects to and sends the terminal's other end over.

Holding that end ourselves makes resizing one call, which the kernel passes on to whoever is in the
foreground; crun between us would not pass it on.
"""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path


class Console:
    """Waits in ``directory`` for one terminal; what nobody took is closed with it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._place = -1
        self._socket: socket.socket | None = None
        self._terminal = -1

    @property
    def path(self) -> str:
        """Where to connect: short, for the names of sockets may not have more than 107 bytes."""
        return f"/proc/{os.getpid()}/fd/{self._place}/console"

    def listen(self) -> None:
        self._place = os.open(self._directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.bind(self.path)
        self._socket.listen(1)

    async def receive(self) -> None:
        """Wait for the terminal."""
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(self._socket)
        with connection:
            ready = loop.create_future()
            loop.add_reader(connection.fileno(), lambda: None if ready.done() else ready.set_result(None))
            try:
                await ready
            finally:
                loop.remove_reader(connection.fileno())
            _, descriptors, _, _ = socket.recv_fds(connection, 1024, 1)
        if descriptors:
            self._terminal = descriptors[0]

    def take(self) -> int:
        """The terminal, which is the caller's from now on; -1 if none came."""
        terminal, self._terminal = self._terminal, -1
        return terminal

    def close(self) -> None:
        if self._terminal >= 0:
            os.close(self.take())
        if self._socket is not None:
            self._socket.close()
        if self._place >= 0:
            os.close(self._place)
            self._place = -1
