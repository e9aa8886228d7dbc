"""Receiving a terminal from crun: a socket that it connects to and sends the terminal's other end over.

Holding that end ourselves makes resizing one call, which the kernel passes on to the foreground
process; crun in between would not pass it on.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

from podling.runtime.oci import commands


class Console:
    """Waits in ``directory`` for one terminal; a terminal that was not taken is closed with it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._place = -1
        self._socket: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._terminal = -1

    @property
    def path(self) -> str:
        """The path of the socket: short, because names of sockets have at most 107 bytes."""
        return f"/proc/{os.getpid()}/fd/{self._place}/console"

    def listen(self) -> None:
        self._place = os.open(self._directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.bind(self.path)
        self._socket.listen(1)

    async def receive(self) -> None:
        """Wait for the terminal."""
        while True:
            try:
                return self._collect()
            except BlockingIOError:
                await commands.readable(self._awaited.fileno())

    def take(self) -> int:
        """Return the terminal, which the caller now owns; -1 if none came.

        A terminal that was sent and not yet received counts: a short command may end before the read.
        """
        if self._terminal < 0:
            with suppress(BlockingIOError):
                self._collect()
        terminal, self._terminal = self._terminal, -1
        return terminal

    @property
    def _awaited(self) -> socket.socket:
        """The descriptor to poll: first for a connection, then for the terminal over it."""
        found = self._connection or self._socket
        assert found is not None
        return found

    def _collect(self) -> None:
        """Take in what is there. Raises ``BlockingIOError`` while something is still to come."""
        if self._connection is None:
            self._connection, _ = self._awaited.accept()
            self._connection.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(self._connection, 1024, 1)
        if descriptors:
            self._terminal = descriptors[0]

    def close(self) -> None:
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        for each in (self._connection, self._socket):
            if each is not None:
                each.close()
        if self._place >= 0:
            os.close(self._place)
            self._place = -1
