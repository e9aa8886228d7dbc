"""Containers' ends, as they happen: the monitors' exit files by inotify, and processes by pidfd.

The exit file carries the exit code, so it is what counts. The pidfd is the safety net: it also shows
that the monitor itself was killed and will never write one. Nothing here polls.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Callable
from pathlib import Path

from podling.runtime.oci import linux

_HEAD = struct.Struct("iIII")


class ExitWatch:
    """Calls back with a container's id when its exit file appears, or with ``""`` when the kernel lost
    count and every container has to be looked at."""

    def __init__(self, directory: Path, appeared: Callable[[str], None]) -> None:
        self._directory = directory
        self._appeared = appeared
        self._descriptor = -1

    def start(self) -> None:
        """Begin to watch, on the running loop."""
        self._descriptor = linux.inotify(self._directory, linux.IN_MOVED_TO | linux.IN_CLOSE_WRITE)
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            _, mask, _, length = _HEAD.unpack_from(data, position)
            position += _HEAD.size
            name = data[position : position + length].rstrip(b"\0").decode()
            position += length
            if mask & linux.IN_Q_OVERFLOW:
                self._appeared("")
            elif len(name) == 64:  # not the monitor's temporary file
                self._appeared(name)


class Running:
    """One running process: a pidfd to signal it and to learn its end, and an event for those who wait."""

    def __init__(self, descriptor: int, ended: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self.recorded = asyncio.Event()
        """Set when the container's end is in its record."""
        self.signalled = 0
        """The last stop signal sent."""
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._loop.add_reader(descriptor, self._readable)
        self._watching = True

    def _readable(self) -> None:
        self._stop_watching()
        self._ended()

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_reader(self.descriptor)

    def close(self) -> None:
        self._stop_watching()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
