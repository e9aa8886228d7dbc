"""The server's side of ``exec`` and ``attach``: one command's streams over one connection.

Input waits in a short pipe, so a command that does not read slows its client down instead of filling
memory. Output is sent piece by piece, so a slow client slows the command. When the client leaves, the
command is ended, as if its terminal had closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from podling.api.meta_v1 import Status
from podling.cancellation import cancel_and_settle, run_to_end
from podling.kubelet.server.carriers import Carrier
from podling.kubelet.server.channels import (
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    failure_status,
    parse_resize,
    status_payload,
)
from podling.kubelet.server.pipe import Pipe
from podling.runtime.base import RuntimeFailure, Streams

RESIZE_VERSION = 3
"""The first version of the protocol with a channel for the terminal's size."""
SIZES_MAX = 16
"""The number of sizes that wait to be applied; a new one replaces the oldest."""

Run = Callable[[Streams], Awaitable[Status]]
"""Runs the command with its streams; returns its status. Raises ``RuntimeFailure``."""


class StreamOptions(Struct, frozen=True, kw_only=True):
    """The streams that the client requests. With a terminal there is no separate stderr."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    def problem(self) -> str:
        """Return why the combination is invalid; empty if it is valid."""
        if self.tty and self.stderr:
            return "tty and stderr cannot both be true"
        if not (self.stdin or self.stdout or self.stderr):
            return "you must specify at least 1 of stdin, stdout, stderr"
        return ""

    def channels(self, version: int) -> frozenset[int]:
        """Return the channels that these streams need in this version of the protocol."""
        wanted = {
            ERROR: True,
            STDIN: self.stdin,
            STDOUT: self.stdout,
            STDERR: self.stderr,
            RESIZE: self.tty and version >= RESIZE_VERSION,
        }
        return frozenset(channel for channel, needed in wanted.items() if needed)


class RemoteCommand:
    """One command on one connection."""

    def __init__(self, carrier: Carrier, options: StreamOptions) -> None:
        self._carrier = carrier
        self._options = options
        self._stdin = Pipe()
        self._sizes: deque[tuple[int, int]] = deque(maxlen=SIZES_MAX)
        self._resized = asyncio.Event()

    async def serve(self, run: Run, *, failed: str) -> None:
        """Run the command to its end. ``failed`` begins the error message of a runtime failure."""
        tasks: list[asyncio.Task[Any]] = []
        status = b""
        try:
            await self._carrier.open(self._options.channels(self._carrier.version))
            command = asyncio.create_task(self._run(run, failed))
            reading = asyncio.create_task(self._read())
            tasks += [command, reading, asyncio.create_task(self._carrier.left())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if command.done():
                status = command.result()
            elif reading.done():
                reading.result()
        except ConnectionError:
            return  # the client is gone, and the command with it
        finally:
            await run_to_end(self._end(tasks, status))

    async def _end(self, tasks: Sequence[asyncio.Task[Any]], status: bytes) -> None:
        """End the command, if it runs, and then the connection, however often the caller is cancelled."""
        await cancel_and_settle(*tasks)
        await self._carrier.close(status)

    async def _run(self, run: Run, failed: str) -> bytes:
        options = self._options
        streams = Streams(
            stdin=self._stdin if options.stdin else None,
            stdout=self._sender(STDOUT) if options.stdout else None,
            stderr=self._sender(STDERR) if options.stderr and not options.tty else None,
            resizes=self._resizes() if options.tty else None,
        )
        try:
            status = await run(streams)
        except ConnectionError:
            raise
        except (RuntimeFailure, OSError) as error:
            status = failure_status(f"{failed}: {error}")
        return status_payload(self._carrier.version, status)

    def _sender(self, channel: int) -> Callable[[bytes], Awaitable[None]]:
        async def send(chunk: bytes) -> None:
            if chunk:
                await self._carrier.send(channel, chunk)

        return send

    async def _read(self) -> None:
        """Read the client's channels until it leaves."""
        async for channel, data in self._carrier.incoming():
            if channel == STDIN and data is None:
                self._stdin.end()
            elif channel == STDIN and data and self._options.stdin:
                await self._stdin.put(data)
            elif channel == RESIZE and data and self._options.tty:
                with contextlib.suppress(ValueError):  # a malformed size is ignored
                    self._sizes.append(parse_resize(data))
                    self._resized.set()

    async def _resizes(self) -> AsyncIterator[tuple[int, int]]:
        while True:
            while self._sizes:
                yield self._sizes.popleft()
            self._resized.clear()
            await self._resized.wait()
