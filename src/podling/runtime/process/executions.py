"""``exec`` and ``attach`` for host processes: the monitor runs the command, we carry its streams."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import struct
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podling.runtime.base import RuntimeFailure, Streams
from podling.runtime.process.link import Channel, command_frame
from podling.runtime.process.records import failure_text

CHUNK = 16384
DRAIN_SECONDS = 0.5
"""Seconds that output may still come after a command's end, from its background processes."""
END_OF_TRANSMISSION = b"\x04"
"""The character that ends a terminal's input."""

Sink = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class _Ends:
    """Descriptors of one command: three of its own, and what carries bytes at our ends."""

    command: tuple[int, int, int]
    outputs: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    inputs: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    ours: list[int] = field(default_factory=list)


async def execute(directory: Path, command: Sequence[str], io: Streams, *, tty: bool) -> int:
    """Run ``command`` beside a container's own; returns its exit code. Cancelling kills it."""
    ends = _terminal(io) if tty else _pipes(io)
    outputs = [asyncio.create_task(carry) for carry in ends.outputs]
    inputs = [asyncio.create_task(carry) for carry in ends.inputs]
    channel: Channel | None = None
    try:
        try:
            channel = await Channel.open(directory, ends.command, command_frame(command, tty=tty))
        except OSError as error:
            raise RuntimeFailure(f"the container is not running: {error.strerror}") from error
        finally:
            for descriptor in set(ends.command):
                os.close(descriptor)
        code = await _result(channel, command)
        if outputs:
            await asyncio.wait(outputs, timeout=DRAIN_SECONDS)
        return code
    finally:
        if channel is not None:
            channel.close()
        for task in (*outputs, *inputs):
            task.cancel()
        await asyncio.gather(*outputs, *inputs, return_exceptions=True)
        for descriptor in ends.ours:
            os.close(descriptor)


async def _result(channel: Channel, command: Sequence[str]) -> int:
    async for kind, payload in channel:
        if kind == "F":
            raise RuntimeFailure(failure_text(command[0], json.loads(payload)))
        if kind == "E":
            raise RuntimeFailure(payload.decode())
        if kind == "X":
            return int(payload)
    raise RuntimeFailure("the container ended before the command did")


def _pipes(io: Streams) -> _Ends:
    """Open one pipe for each stream with a reader or writer, none for the others."""
    ends = _Ends((-1, -1, -1))
    numbers: list[int] = []
    if io.stdin is None:
        numbers.append(os.open(os.devnull, os.O_RDONLY))
    else:
        reading, writing = _pipe()
        ends.inputs.append(_feed(writing, io.stdin, close=True))
        numbers.append(reading)
    for sink in (io.stdout, io.stderr):
        if sink is None:
            numbers.append(os.open(os.devnull, os.O_WRONLY))
            continue
        reading, writing = _pipe()
        ends.ours.append(reading)
        ends.outputs.append(_drain(reading, sink))
        numbers.append(writing)
    ends.command = (numbers[0], numbers[1], numbers[2])
    return ends


def _pipe() -> tuple[int, int]:
    return os.pipe()


def _terminal(io: Streams) -> _Ends:
    master, slave = os.openpty()
    ends = _Ends((slave, slave, slave), ours=[master])
    ends.outputs.append(_drain(master, io.stdout or _nowhere))
    if io.stdin is not None:
        ends.inputs.append(_feed(master, io.stdin, close=False))
    if io.resizes is not None:
        ends.inputs.append(_resize(master, io.resizes))
    return ends


async def _nowhere(_: bytes) -> None:
    """Output that is discarded."""


async def _drain(descriptor: int, sink: Sink) -> None:
    """Carry what comes out of ``descriptor`` until its end."""
    os.set_blocking(descriptor, False)
    loop = asyncio.get_running_loop()
    while True:
        try:
            chunk = os.read(descriptor, CHUNK)
        except BlockingIOError:
            await _ready(descriptor, loop.add_reader, loop.remove_reader)
            continue
        except OSError:  # a terminal without users
            return
        if not chunk:
            return
        await sink(chunk)


async def _feed(descriptor: int, source: AsyncIterator[bytes], *, close: bool) -> None:
    """Carry ``source`` into ``descriptor``; its end is the pipe's end, or the terminal's ^D."""
    os.set_blocking(descriptor, False)
    loop = asyncio.get_running_loop()
    try:
        async for chunk in _with_end(source, b"" if close else END_OF_TRANSMISSION):
            rest = memoryview(chunk)
            while rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except BlockingIOError:
                    await _ready(descriptor, loop.add_writer, loop.remove_writer)
    except OSError:
        return  # the command does not read any more
    finally:
        if close:
            os.close(descriptor)


async def _with_end(source: AsyncIterator[bytes], end: bytes) -> AsyncIterator[bytes]:
    async for chunk in source:
        yield chunk
    yield end


async def _ready(descriptor: int, add: Callable[..., None], remove: Callable[[int], Any]) -> None:
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


async def _resize(master: int, resizes: AsyncIterator[tuple[int, int]]) -> None:
    async for columns, rows in resizes:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


async def attach_to(directory: Path, io: Streams, *, tty: bool) -> None:
    """Carry a container's own streams until it ends or the caller is cancelled."""
    try:
        channel = await Channel.open(directory)
    except OSError as error:
        raise RuntimeFailure(f"the container is not running: {error.strerror}") from error
    inputs: list[asyncio.Task[None]] = []
    try:
        await channel.send("A")
        if io.stdin is not None:
            inputs.append(asyncio.create_task(_send_input(channel, io.stdin)))
        if io.resizes is not None:
            inputs.append(asyncio.create_task(_send_sizes(channel, io.resizes)))
        async for kind, payload in channel:
            if kind == "X":
                break
            sink = io.stdout if kind == "1" or tty else io.stderr
            if kind in ("1", "2") and sink is not None:
                await sink(payload)
    finally:
        channel.close()
        for task in inputs:
            task.cancel()
        await asyncio.gather(*inputs, return_exceptions=True)


async def _send_input(channel: Channel, source: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(ConnectionError):
        async for chunk in source:
            if chunk:
                await channel.send("I", chunk)
        await channel.send("I")


async def _send_sizes(channel: Channel, resizes: AsyncIterator[tuple[int, int]]) -> None:
    with contextlib.suppress(ConnectionError):
        async for columns, rows in resizes:
            await channel.send("W", f"{columns} {rows}".encode())
