"""Connections to the ports of pods, as evidence for ``podling why service/NAME``.

A connection is opened and closed; nothing is sent. Where the pod's address refuses it, a port-forward through
the node shows whether a process listens on the pod's loopback only.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress

import aiohttp
from msgspec import Struct

from podling.cli.services.evidence import CONNECTED, LOOPBACK, REFUSED, SILENT, PortProbe
from podling.client.kubeconfig import Connection
from podling.client.transport import ssl_context

CONNECT_SECONDS = 1.0
FORWARD_SECONDS = 3.0
"""Seconds within which the node reports that nothing listens inside the pod."""
_PROTOCOL = "v4.channel.k8s.io"
_ERRORS = 1
"""The channel of errors of a port-forward's first port."""


class Target(Struct, frozen=True):
    """A port of a pod, and the address under which a Service reaches it."""

    namespace: str
    pod: str
    address: str
    port: int


async def probe_ports(connection: Connection, targets: Sequence[Target]) -> list[PortProbe]:
    """Return the outcome of a TCP connection to each target. Never raises for a target."""
    return list(await asyncio.gather(*(_probe(connection, target) for target in targets)))


async def _probe(connection: Connection, target: Target) -> PortProbe:
    outcome = await connect(target.address, target.port)
    if outcome == REFUSED and await _listens_inside(connection, target):
        outcome = LOOPBACK
    return PortProbe(target.pod, target.address, target.port, outcome)


async def connect(address: str, port: int) -> str:
    """Return ``connected``, ``refused``, or ``silent`` when there is no answer in time or no route."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), CONNECT_SECONDS)
    except ConnectionRefusedError:
        return REFUSED
    except OSError:  # a TimeoutError is an OSError
        return SILENT
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return CONNECTED


async def _listens_inside(connection: Connection, target: Target) -> bool:
    """Return whether a port-forward to the target stays open, as it does when a process accepts it."""
    path = f"/api/v1/namespaces/{target.namespace}/pods/{target.pod}/portforward"
    url = f"{connection.server.rstrip('/')}{path}?ports={target.port}"
    context: ssl.SSLContext | bool = ssl_context(connection) if url.startswith("https:") else True
    headers = {"Authorization": f"Bearer {connection.token}"} if connection.token else {}
    try:
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(url, ssl=context, protocols=(_PROTOCOL,)) as socket,
        ):
            return not await _first_error(socket)
    except (aiohttp.ClientError, OSError):
        return False


async def _first_error(socket: aiohttp.ClientWebSocketResponse) -> str:
    """Return the first error of a port-forward; empty if there is none in ``FORWARD_SECONDS``."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FORWARD_SECONDS):
            async for message in socket:
                frame = message.data if message.type is aiohttp.WSMsgType.BINARY else b""
                is_port = len(frame) == 3  # the first frame of each channel holds the port's number
                if frame[:1] == bytes([_ERRORS]) and not is_port:
                    return str(frame[1:], errors="replace")
                if frame[:1] == b"\0" and not is_port:
                    return ""
            return "the connection ended"
    return ""
