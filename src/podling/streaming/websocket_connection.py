"""WebSockets over connections taken over from HTTP: the handshake, and a server's end of the connection."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import web

from podling.machinery.errors import bad_request
from podling.streaming.upgrades import ClientConnection, accept_upgrade
from podling.streaming.websocket import (
    BINARY,
    NORMAL,
    PONG,
    TEXT,
    Close,
    Decoder,
    Event,
    Part,
    Ping,
    WebSocketError,
    close_frame,
    frame,
)

PROTOCOLS_HEADER = "Sec-WebSocket-Protocol"
KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CLOSE_SECONDS = 1.0
"""Seconds that a client may take to answer a close frame."""


class WebSocket:
    """A server's end. ``protocol`` is the subprotocol, empty for none."""

    def __init__(self, connection: ClientConnection, protocol: str = "") -> None:
        self.protocol = protocol
        self._connection = connection
        self._decoder = Decoder()
        self._events: deque[Event] = deque()
        self._sending = asyncio.Lock()
        self._code = NORMAL
        self._ended = False

    async def receive(self) -> Part | None:
        """Return the next part of a message, or None when the client has closed or left.

        Raises ``WebSocketError`` for what is no WebSocket, ``ConnectionError`` when the client is gone.
        """
        while not self._ended:
            while self._events:
                event = self._events.popleft()
                if isinstance(event, Part):
                    return event
                if isinstance(event, Close):
                    self._ended = True
                    return None
                await self._write(frame(PONG, event.data))
            await self._fill()
        return None

    async def _fill(self) -> None:
        chunk = await self._connection.receive()
        if not chunk:
            self._ended = True
            return
        try:
            self._events.extend(_without_stale_pings(self._decoder.feed(chunk)))
        except WebSocketError as error:
            self._code, self._ended = error.code, True
            raise

    async def left(self) -> None:
        """Wait until the client has gone, also while nothing is received."""
        await self._connection.left()

    async def send(self, *messages: bytes, text: bool = False) -> None:
        """Send ``messages`` in one write; wait while the client is behind.

        Raises ``ConnectionError`` when it is gone.
        """
        await self._write(b"".join([frame(TEXT if text else BINARY, data) for data in messages]))

    async def close(self, *last: bytes, text: bool = False) -> None:
        """Send the ``last`` messages and the close frame in one write, and end the connection.

        Some clients give up the connection as soon as they have read the last message.
        """
        messages = [frame(TEXT if text else BINARY, data) for data in last]
        try:
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._write(b"".join([*messages, close_frame(self._code)]))
                    while self._code == NORMAL and await self.receive() is not None:
                        pass
        finally:
            await self._connection.close()

    async def _write(self, data: bytes) -> None:
        async with self._sending:
            await self._connection.send(data)


def _without_stale_pings(events: list[Event]) -> list[Event]:
    """Only the last of several pings that came together need be answered (RFC 6455, 5.5.3)."""
    pings = [event for event in events if isinstance(event, Ping)]
    return [event for event in events if not isinstance(event, Ping) or event is pings[-1]]


def is_websocket_request(request: web.BaseRequest) -> bool:
    """Return whether the client requests a WebSocket."""
    headers = request.headers
    asks = "upgrade" in headers.get("Connection", "").lower()
    return asks and headers.get("Upgrade", "").lower() == "websocket"


def offered_protocols(request: web.BaseRequest) -> list[str]:
    """Return the subprotocols that the client offers, its favourite first."""
    texts = ",".join(request.headers.getall(PROTOCOLS_HEADER, ()))
    return [name.strip() for name in texts.split(",") if name.strip()]


def chosen_protocol(offered: Sequence[str], known: Sequence[str]) -> str | None:
    """The first offered subprotocol that is known; none offered counts as the empty one. None: no match."""
    return next((name for name in offered or ("",) if name in known), None)


async def accept_websocket(
    request: web.BaseRequest, protocol: str, *, idle_seconds: float = float("inf")
) -> tuple[web.StreamResponse, WebSocket]:
    """Answer the handshake; returns the response and the connection. Raises 400 for a malformed handshake."""
    headers = request.headers
    if request.method != "GET" or headers.get("Sec-WebSocket-Version") != "13":
        raise bad_request("missing or bad WebSocket Version")
    key = headers.get("Sec-WebSocket-Key", "")
    if not _is_key(key):
        raise bad_request("mismatch challenge/response")
    accept = base64.b64encode(hashlib.sha1(key.encode() + KEY_SUFFIX).digest()).decode()
    answer = {"Sec-WebSocket-Accept": accept}
    if protocol:
        answer[PROTOCOLS_HEADER] = protocol
    response, connection = await accept_upgrade(request, "websocket", answer, idle_seconds=idle_seconds)
    return response, WebSocket(connection, protocol)


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False
