"""Port-forward to a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from podling.runtime.base import RuntimeFailure

CHUNK = 32768


async def forward(
    hosts: Sequence[str], port: int, inbound: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Carry one connection to ``port`` of the first of ``hosts`` that answers, until it is closed.

    The end of ``inbound`` closes our half only, as a TCP peer would. Raises ``RuntimeFailure`` when
    no process listens.
    """
    reader, writer = await _connect(hosts, port)
    sending = asyncio.create_task(_send(inbound, writer))
    try:
        while chunk := await reader.read(CHUNK):
            await send(chunk)
    except ConnectionError:
        pass  # the pod's side broke off: the end, as for any other peer
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()


async def _connect(hosts: Sequence[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    refused = ""
    for host in hosts:
        try:
            return await asyncio.open_connection(host, port)
        except OSError as error:
            refused = refused or (error.strerror or str(error))
    raise RuntimeFailure(f"failed to connect to port {port} inside the pod: {refused}")


async def _send(inbound: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        async for chunk in inbound:
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
