"""Unix sockets at paths of any length: the kernel takes at most 107 bytes, a data directory may be deeper."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ADDRESS_BYTES_MAX = 107
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group (``struct ucred``)."""

BACKLOG = 128


async def connect(path: str) -> socket.socket:
    """Return a socket that is connected to the one at ``path``. Raises ``OSError``."""
    connection = socket.socket(
        socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    )
    try:
        with _address(path) as address:
            await asyncio.get_running_loop().sock_connect(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def listen(path: str) -> socket.socket:
    """Return a listening socket at ``path`` that only this user may connect to. Replaces an old one.

    Raises ``OSError``.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        with suppress(FileNotFoundError):
            os.unlink(path)
        with _address(path) as address:
            listener.bind(address)
        os.chmod(path, 0o600)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end, as they were when it connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(data)
    return process, user


@contextmanager
def _address(path: str) -> Iterator[str]:
    """Give an address of ``path`` that is short enough, for as long as the block runs."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES_MAX:
        yield path
        return
    where = Path(path)
    folder = os.open(where.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{where.name}"
    finally:
        os.close(folder)
