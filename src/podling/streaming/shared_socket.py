"""Listening sockets that several processes accept connections from, each about as many as the others.

Left to itself, the kernel wakes all of them, and the one that runs already takes one connection after the
other: on a busy machine, one process gets nearly all. So the processes share the numbers of their
connections, and one that has more than another waits a moment before it accepts.
"""

from __future__ import annotations

import mmap
import socket
from collections.abc import Sequence
from copy import copy

_SIZE = 8
"""Bytes of one number."""


class SharedSocket:
    """Sockets of one port and the number of connections of each process; made before they are forked.

    Args:
        also: sockets at further addresses.
    """

    def __init__(self, listening: socket.socket, processes: int, also: Sequence[socket.socket] = ()) -> None:
        self.sockets = (listening, *also)
        self._counts = memoryview(mmap.mmap(-1, _SIZE * processes)).cast("Q")
        self._own = 0

    def of(self, number: int) -> SharedSocket:
        """Return the sockets for the process with this number, from 0, which has no connections yet."""
        found = copy(self)
        found.sockets, found._own = tuple(each.dup() for each in self.sockets), number
        found.note(0)
        return found

    @property
    def port(self) -> int:
        port: int = self.sockets[0].getsockname()[1]
        return port

    def note(self, connections: int) -> None:
        """Set the number of connections of this process."""
        self._counts[self._own] = connections

    @property
    def has_more(self) -> bool:
        """Return whether this process has more connections than another one."""
        return self._counts[self._own] > min(self._counts)

    def close(self) -> None:
        for each in self.sockets:
            each.close()
