"""The server's side of ``exec`` and ``attach``: one command's streams over one connection.

Input waits in a short pipe, so a command that does not read slows its client down instead of filling our
memory; output is sent piece by piece, so a slow client slows the command. When the client goes away the
command is ended, as it would be with its terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from podling.api.meta_v1 import Status
from podling.kubelet.carriers import Carrier
from podling.kubelet.channels import (
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    failure_status,
    parse_resize,
    status_payload,
)
from podling.kubelet.pipe import Pipe
from podling.runtime.base import RuntimeFailure, Streams

RESIZE_VERSION = 3
"""From this version on a terminal's size has a channel."""

Run = Callable[[Streams], Awaitable[Status]]
"""Runs the command with its streams; returns how it ended. Raises ``RuntimeFailure``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Which streams the client wants. With a terminal there is no separate stderr."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    def problem(self) -> str:
        """What is wrong with the combination; empty if nothing is."""
        if self.tty and self.stderr:
            return "tty and stderr cannot both be true"
        if not (self.stdin or self.stdout or self.stderr):
            return "you must specify at least 1 of stdin, stdout, stderr"
        return ""

    def channels(self, version: int) -> frozenset[int]:
        """The channels that these streams need in this version of the protocol."""
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
        self._sizes: asyncio.Queue[tuple[int, int]] = asyncio.Queue()

    async def serve(self, run: Run, *, failed: str) -> None:
        """Carry the command to its end. ``failed`` says what failed when the runtime could not."""
        tasks: list[asyncio.Task[bytes] | asyncio.Task[None]] = []
        try:
            await self._carrier.open(self._options.channels(self._carrier.version))
            command = asyncio.create_task(self._run(run, failed))
            reading = asyncio.create_task(self._read())
            tasks += [command, reading]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if command.done() and (payload := command.result()):
                await self._carrier.send(ERROR, payload)
        except ConnectionError:
            return  # the client is gone, and the command with it
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(ConnectionError):
                await self._carrier.close()

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
        except RuntimeFailure as error:
            status = failure_status(f"{failed}: {error}")
        return status_payload(self._carrier.version, status)

    def _sender(self, channel: int) -> Callable[[bytes], Awaitable[None]]:
        async def send(chunk: bytes) -> None:
            if chunk:
                await self._carrier.send(channel, chunk)

        return send

    async def _read(self) -> None:
        """Take what comes until the client leaves."""
        async for channel, data in self._carrier.incoming():
            if channel == STDIN and data is None:
                self._stdin.end()
            elif channel == STDIN and data and self._options.stdin:
                await self._stdin.put(data)
            elif channel == RESIZE and data:
                with contextlib.suppress(ValueError):  # a size that is none
                    self._sizes.put_nowait(parse_resize(data))

    async def _resizes(self) -> AsyncIterator[tuple[int, int]]:
        while True:
            yield await self._sizes.get()
