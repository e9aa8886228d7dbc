"""Notification of changed files in a directory: by inotify if the system has it.

The standard library has no inotify, and three system calls do not justify a dependency. One instance
serves the whole kubelet, because the kernel allows a user only 128 of them. Without inotify (macOS), or
without a free watch, waiting falls back to a check every half second.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podling import clock

POLL_SECONDS = 0.5
EVENT = struct.Struct("iIII")
IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
MASK = IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
READ = 64 * 1024


class DirectoryWatch:
    """A directory that is being waited for."""

    def __init__(self, *, notified: bool) -> None:
        self._event = asyncio.Event()
        self._notified = notified

    def mark(self) -> None:
        """Forget earlier changes; call it before reading, so that no later one is missed."""
        self._event.clear()

    def change(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        """Return when something changed since ``mark``, or may have."""
        if self._notified:
            await self._event.wait()
        else:
            await clock.sleep(POLL_SECONDS)


class FileWatch:
    """Watches directories while callers wait for changes in them."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._waiting: dict[int, list[DirectoryWatch]] = {}

    @contextmanager
    def watch(self, directory: Path) -> Iterator[DirectoryWatch]:
        number = self._add(directory)
        watched = DirectoryWatch(notified=number >= 0)
        self._waiting.setdefault(number, []).append(watched)
        try:
            yield watched
        finally:
            self._waiting[number].remove(watched)
            if not self._waiting[number]:
                del self._waiting[number]
                self._remove(number)

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _add(self, directory: Path) -> int:
        """Return the kernel's number for a watch on ``directory``; it is the same for the same directory."""
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "inotify_init1"):
            return -1
        if self._descriptor < 0:
            self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if self._descriptor < 0:
                return -1
            asyncio.get_running_loop().add_reader(self._descriptor, self._take)
        number: int = libc.inotify_add_watch(self._descriptor, os.fsencode(directory), MASK)
        return number

    def _remove(self, number: int) -> None:
        if number >= 0 and self._descriptor >= 0:
            ctypes.CDLL(None).inotify_rm_watch(self._descriptor, number)

    def _take(self) -> None:
        try:
            data = os.read(self._descriptor, READ)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            number, _, _, length = EVENT.unpack_from(data, position)
            position += EVENT.size + length
            for watched in self._waiting.get(number, ()):
                watched.change()
