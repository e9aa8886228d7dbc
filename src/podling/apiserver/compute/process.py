"""One worker process, as the server sees it: its start, one exchange at a time, its end."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys

from podling.apiserver.compute.frames import REPLY_BYTES, Garbage, Outcome, read_reply_head, request_head

READ_AHEAD_BYTES = 1024 * 1024
BOOTSTRAP = (
    "import os, sys; sys.path += sys.argv[1].split(os.pathsep); "
    "from podling.apiserver.compute.worker import main; main(*map(int, sys.argv[2:]))"
)
"""The worker's beginning. Python's own modules come first: our path may begin with a folder of the user, such
as that of a test, and a file there may be called ``operator.py``."""


class Lost(Exception):
    """The process ended, or sent garbage, before it replied."""


class WorkerProcess:
    """A process that computes; not shared: one exchange at a time."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.notes: dict[str, None] = {}
        """The notes of callers about what the process has been sent, in the order of their making."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, memory_bytes: int) -> WorkerProcess:
        """Start a process. Raises ``OSError``."""
        ours, theirs = socket.socketpair()
        try:
            process = _spawn(theirs, memory_bytes)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=READ_AHEAD_BYTES)
        return cls(process, reader, writer)

    async def exchange(self, name: bytes, data: bytes) -> tuple[Outcome, bytes]:
        """Return the reply to one job. Raises ``Lost``."""
        try:
            self._writer.write(request_head(name, len(data)) + name)
            self._writer.write(data)
            await self._writer.drain()
            head = read_reply_head(await self._reader.readexactly(REPLY_BYTES))
            return head.outcome, await self._reader.readexactly(head.length)
        except (asyncio.IncompleteReadError, ConnectionError, Garbage) as error:
            raise Lost(str(error) or type(error).__name__) from None

    async def end(self) -> None:
        """Kill the process, and wait for the kernel to take back its memory."""
        self._writer.transport.abort()
        self._process.kill()
        await asyncio.to_thread(self._process.wait)


def _spawn(theirs: socket.socket, memory_bytes: int) -> subprocess.Popen[bytes]:
    """Start the interpreter anew: a copy of this process would have its locks, but not its threads."""
    descriptor = theirs.fileno()
    return subprocess.Popen(
        [
            sys.executable,
            *("-I", "-S", "-c", BOOTSTRAP, os.pathsep.join(filter(None, sys.path))),
            *(str(descriptor), str(os.getpid()), str(memory_bytes)),
        ],
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
    )
