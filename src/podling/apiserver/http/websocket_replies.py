"""Answers that go on for long, over a WebSocket instead of HTTP: logs and watches.

The client sends nothing but control frames; its messages are read and dropped. The server ends both with a
close frame of status 1000.

Sources: ``k8s.io/streaming`` wsstream (``Reader``) for logs; for watches ``endpoints/handlers/watch.go``
(``HandleWS``) and ``golang.org/x/net/websocket``.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, web

from podling.apiserver.http.exchange import HttpRequest
from podling.cancellation import cancel_and_settle, run_to_end
from podling.machinery import errors
from podling.streaming.websocket_connection import (
    WebSocket,
    accept_websocket,
    chosen_protocol,
    offered_protocols,
)

BINARY, BASE64 = "binary.k8s.io", "base64.binary.k8s.io"
MESSAGE_BYTES = 2048
"""The most that one message carries of a log, before it is encoded."""


async def send_log(request: HttpRequest, chunks: AsyncIterator[bytes]) -> web.StreamResponse:
    """Send a byte stream: an empty message first, then its bytes, in base64 if the client chose that.

    Raises 403 for a client that offers none of the subprotocols, 400 for a malformed handshake.
    """
    offered = offered_protocols(request)
    protocol = chosen_protocol(offered, ("", BINARY, BASE64))
    if protocol is None:
        why = f"requested protocol(s) are not supported: [{' '.join(offered)}]"
        raise errors.failure(403, "Forbidden", f"{why}; supports [{BINARY} {BASE64}]")
    response, socket = await accept_websocket(request, protocol)
    as_text = protocol == BASE64

    async def send() -> None:
        await send_messages(socket, [b""], text=as_text, seconds=None)
        async for chunk in chunks:
            pieces = [chunk[at : at + MESSAGE_BYTES] for at in range(0, len(chunk), MESSAGE_BYTES)]
            if as_text:
                pieces = [base64.b64encode(piece) for piece in pieces]
            await send_messages(socket, pieces, text=as_text, seconds=None)

    await serve_socket(request, socket, send())
    return response


async def accept_watch(request: HttpRequest) -> tuple[web.StreamResponse, WebSocket]:
    """Answer the handshake of a watch. Raises 403 for a client without an origin, 400 for a malformed one.

    Upstream's watches have no subprotocols of their own: a single subprotocol of any name is accepted, and
    events are still sent as text.
    """
    origin = request.headers.get("Origin", "")
    if not (urlsplit(origin).scheme or origin.startswith("/")):
        raise errors.failure(403, "Forbidden", "null origin" if not origin else f"invalid origin {origin!r}")
    offered = offered_protocols(request)
    if len(offered) > 1:
        raise errors.bad_request("bad websocket protocol")
    return await accept_websocket(request, "".join(offered))


async def send_messages(
    socket: WebSocket, messages: Sequence[bytes], *, text: bool, seconds: float | None
) -> None:
    """Send in one write. Raises ``TimeoutError`` when the client does not read for ``seconds``."""
    async with asyncio.timeout(seconds):
        await socket.send(*messages, text=text)


async def serve_socket(request: HttpRequest, socket: WebSocket, sending: Coroutine[Any, Any, None]) -> None:
    """Run ``sending`` until it ends or the client leaves, and end the connection."""
    tasks = [asyncio.create_task(work) for work in (sending, _drop_messages(socket), socket.left())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # A send that is given up cancels the wait that aiohttp shares with every other send.
        failures = [task.exception() for task in done if not task.cancelled()]
        if any(isinstance(failure, TimeoutError) for failure in failures):
            request.cut()
        for failure in failures:
            if failure is not None and not isinstance(failure, ConnectionError | ClientError | TimeoutError):
                raise failure
    finally:
        await run_to_end(_end(socket, tasks))


async def _end(socket: WebSocket, tasks: Sequence[asyncio.Task[None]]) -> None:
    await cancel_and_settle(*tasks)
    await socket.close()


async def _drop_messages(socket: WebSocket) -> None:
    while await socket.receive() is not None:
        pass
