"""One TCP connection into a pod, made from inside its network namespace.

A thread enters the namespace, connects and ends; the socket stays in the namespace it was made in and is
used from here. So a port that listens on the pod's loopback only can be reached, as kubectl's users expect.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands, linux
from podling.runtime.oci.host import Host
from podling.runtime.oci.records import SandboxRecord
from podling.runtime.oci.threads import in_thread

CONNECT_SECONDS = 10.0


async def forward_port(
    host: Host,
    record: SandboxRecord,
    port: int,
    inbound: AsyncIterator[bytes],
    send: Callable[[bytes], Awaitable[None]],
) -> None:
    """Carry one connection until either side ends. Raises ``RuntimeFailure`` when no process listens."""
    namespace = None
    if not record.namespaces.host_network:
        namespace = host.place(record.id).namespace("net")
    connection = await in_thread(lambda: _connect(namespace, port, record.id))
    with connection:
        connection.setblocking(False)
        feeding = asyncio.ensure_future(_feed(connection, inbound))
        try:
            with suppress(ConnectionResetError):
                while chunk := await commands.read_some(connection.fileno()):
                    await send(chunk)
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)


def _connect(namespace: Path | None, port: int, sandbox_id: str) -> socket.socket:
    """Connect to the loopback's ``port``, first by IPv4, then by IPv6, as seen from ``namespace``."""
    if namespace is not None:
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            linux.setns(descriptor, linux.CLONE_NEWNET)
        finally:
            os.close(descriptor)
    failures = []
    for family, address, shown in (
        (socket.AF_INET, "127.0.0.1", f"IPv4: dial tcp4 127.0.0.1:{port}"),
        (socket.AF_INET6, "::1", f"IPv6: dial tcp6 [::1]:{port}"),
    ):
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect((address, port))
        except OSError as error:
            connection.close()
            failures.append(f"{shown}: connect: {(error.strerror or str(error)).lower()}")
        else:
            return connection
    where = f'inside namespace "{sandbox_id}"'
    raise RuntimeFailure(f"failed to connect to localhost:{port} {where}, {' '.join(failures)}")


async def _feed(connection: socket.socket, inbound: AsyncIterator[bytes]) -> None:
    with suppress(BrokenPipeError, ConnectionResetError, OSError):
        async for chunk in inbound:
            await commands.write_all(connection.fileno(), chunk)
        connection.shutdown(socket.SHUT_WR)
