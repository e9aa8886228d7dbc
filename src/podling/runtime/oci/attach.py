"""A container's own streams, through its monitor: attach, terminal size, log files opened anew.

conmon offers a packet socket (each packet's first byte names the stream: 2 is stdout, 3 is stderr; what
is written to it becomes the container's stdin) and two fifos for the terminal's size and for control.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path

from podling.runtime.base import RuntimeFailure, Streams
from podling.runtime.oci import commands
from podling.runtime.oci.host import Host, birth
from podling.runtime.oci.records import ContainerRecord

STDOUT, STDERR = 2, 3
EXITED = "container is in CONTAINER_EXITED state"
_INPUT_PACKET = 8192
_REOPEN_LOG = b"2 0 0\n"


async def attach_container(host: Host, record: ContainerRecord, io: Streams) -> None:
    """Carry the container's streams until it ends. Raises ``RuntimeFailure`` if it has ended."""
    bundle = host.bundle(record.id)
    with _connect(bundle) as connection:
        if birth(record.pid) != record.birth:  # its monitor is still there, but sends its output no more
            raise RuntimeFailure(EXITED)
        sides = [asyncio.ensure_future(_output(connection, io))]
        others = []
        if io.stdin is not None and record.stdin:
            others.append(asyncio.ensure_future(_input(connection, io, once=record.stdin_once)))
        if io.resizes is not None and record.tty:
            others.append(asyncio.ensure_future(_resizes(bundle, io)))
        try:
            await sides[0]
        finally:
            for task in (*sides, *others):
                task.cancel()
            await asyncio.gather(*sides, *others, return_exceptions=True)


def _connect(bundle: Path) -> socket.socket:
    """Connect to the monitor's socket, whose path may be longer than a socket's name can be. A monitor
    that is not there any more has gone with its container."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        directory = os.open(bundle, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connection.connect(f"/proc/self/fd/{directory}/attach")
        finally:
            os.close(directory)
        connection.setblocking(False)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise RuntimeFailure(EXITED) from None
    except OSError as error:
        connection.close()
        raise RuntimeFailure(f"the container's monitor cannot be reached: {error.strerror}") from error
    return connection


async def _output(connection: socket.socket, io: Streams) -> None:
    while packet := await commands.read_some(connection.fileno()):
        sink = {STDOUT: io.stdout, STDERR: io.stderr}.get(packet[0])
        if sink is not None and len(packet) > 1:
            await sink(packet[1:])


async def _input(connection: socket.socket, io: Streams, *, once: bool) -> None:
    assert io.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        async for chunk in io.stdin:
            for start in range(0, len(chunk), _INPUT_PACKET):
                await commands.write_all(connection.fileno(), chunk[start : start + _INPUT_PACKET])
        if once:
            connection.shutdown(socket.SHUT_WR)


async def _resizes(bundle: Path, io: Streams) -> None:
    assert io.resizes is not None
    async for columns, rows in io.resizes:
        _tell(bundle / "winsz", f"{rows} {columns}\n".encode())


async def reopen_log(host: Host, record: ContainerRecord) -> None:
    """Have the monitor open the log file anew after it was renamed."""
    _tell(host.bundle(record.id) / "ctl", _REOPEN_LOG)


def _tell(fifo: Path, message: bytes) -> None:
    try:
        descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RuntimeFailure(f"the container's monitor cannot be reached: {error.strerror}") from error
    try:
        os.write(descriptor, message)
    finally:
        os.close(descriptor)
