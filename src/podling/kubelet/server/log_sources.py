"""The sources of logs: files that are rotated while they are read, or a runtime's memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from podling import clock
from podling.kubelet.file_watch import DirectoryWatch, FileWatch
from podling.kubelet.server.logs import LogSource
from podling.runtime.base import (
    ContainerEventType,
    ContainerState,
    KeepsLogs,
    LogBuffer,
    NotFound,
    Runtime,
)

OVER = (ContainerEventType.EXITED, ContainerEventType.REMOVED)


class FileLog:
    """A log file. When it is replaced, reading continues with the new one after the old one's end.

    A rotated file is renamed and stays open here, so no byte is lost.
    """

    def __init__(self, path: Path, ended: asyncio.Event, watched: DirectoryWatch) -> None:
        self._path = path
        self._ended = ended
        self._watched = watched
        self._base = 0
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def size(self) -> int:
        return self._base + os.fstat(self._file).st_size

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._file, length, offset - self._base)

    async def wait_for_more(self, offset: int) -> bool:
        while True:
            over = self._ended.is_set()  # looked at before the log: what came before the end is still read
            self._watched.mark()
            if self.size() > offset:
                return True
            if self._follow_replacement(offset):
                continue
            if over:
                return False
            await clock.first_of(self._watched.wait(), self._ended.wait())

    def close(self) -> None:
        os.close(self._file)

    def _follow_replacement(self, offset: int) -> bool:
        """Return whether the name belongs to a new file; if so, switch to it at ``offset``."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return False  # between rename and reopening
        here = os.fstat(self._file)
        if (found.st_dev, found.st_ino) == (here.st_dev, here.st_ino) or here.st_size > offset - self._base:
            return False
        os.close(self._file)
        self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._base = offset
        return True


class BufferLog:
    """A log in a runtime's memory."""

    def __init__(self, buffer: LogBuffer, ended: asyncio.Event) -> None:
        self._buffer = buffer
        self._ended = ended

    def size(self) -> int:
        return self._buffer.end

    def read(self, offset: int, length: int) -> bytes:
        return self._buffer.read(offset)

    async def wait_for_more(self, offset: int) -> bool:
        if not self._ended.is_set():
            await clock.first_of(self._buffer.wait(offset), self._ended.wait())
        return self._buffer.end > offset


@asynccontextmanager
async def until_exit(runtime: Runtime, container_id: str) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set once the container does not run any more."""
    ended = asyncio.Event()

    async def watch() -> None:
        events = runtime.events()  # opened before looking, so that no exit falls in between
        try:
            if (await runtime.container_status(container_id)).state is not ContainerState.RUNNING:
                return
            async for event in events:
                if event.container_id == container_id and event.type in OVER:
                    return
        except NotFound:
            return
        finally:
            ended.set()

    watching = asyncio.create_task(watch())
    try:
        yield ended
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@asynccontextmanager
async def open_log(
    runtime: Runtime, container_id: str, path: str, watch: FileWatch, *, follow: bool
) -> AsyncIterator[LogSource]:
    """Yield a container's log, to follow or only to read. Raises ``OSError`` if its file is gone."""
    async with AsyncExitStack() as stack:
        if follow:
            ended = await stack.enter_async_context(until_exit(runtime, container_id))
        else:
            ended = asyncio.Event()
            ended.set()
        if isinstance(runtime, KeepsLogs):
            buffer = runtime.log(path)
            if buffer is None:
                raise FileNotFoundError(path)
            yield BufferLog(buffer, ended)
            return
        watched = (
            stack.enter_context(watch.watch(Path(path).parent)) if follow else DirectoryWatch(notified=False)
        )
        log = FileLog(Path(path), ended, watched)
        stack.callback(log.close)
        yield log
