"""All that Podling uses of aiohttp beyond its documented interface.

A new version of aiohttp may change any of it: ``pyproject.toml`` allows the versions that it was tested with.
Nothing else may use names of aiohttp with a leading underscore, or modules that it does not document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import SERVER_SOFTWARE
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from podling import clock

__all__ = [
    "SERVER_SOFTWARE",
    "ByteParser",
    "CompletingRequest",
    "DirectResponse",
    "HttpProcessingError",
    "ServerConnection",
    "drain_of",
    "rfc822_formatted_time",
    "take_over",
]

JOINED_BYTES = 64 * 1024
"""A body of this size is not copied to put the head before it."""
WAITS_FROM_BYTES = 64 * 1024
"""With so much on its way to a client, the next request waits until it has been read."""


class ServerConnection(web.RequestHandler):
    """A server's HTTP/1.1 connection that records since when a head is due; ``lost`` is called at its end.

    As in Go's server, the time for a head begins with the connection, and for later requests with the head's
    first byte; between requests the keep-alive time-out holds.
    """

    __slots__ = ("_lost", "head_began")

    def __init__(self, manager: web.Server, lost: Callable[[], None], **options: Any) -> None:
        super().__init__(manager, loop=asyncio.get_running_loop(), **options)
        self._lost = lost
        self.head_began: float | None = None
        """When the head began that is not complete; None when there is none."""

    @property
    def is_idle(self) -> bool:
        """True if no request is being served."""
        return self._current_request is None and not self._messages

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.head_began = clock.machine_monotonic()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._lost()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """End as aiohttp does; a client that does not read what is left holds nothing up.

        TLS has a time-out of its own for that.
        """
        transport = self.transport
        plain = (
            transport is not None
            and not transport.is_closing()  # asyncio's TLS has forgotten all about such a one
            and transport.get_extra_info("sslcontext") is None
        )
        await super().shutdown(timeout)
        if plain and transport is not None and transport.get_write_buffer_size():
            transport.abort()

    def data_received(self, data: bytes) -> None:
        requests = self._request_count
        super().data_received(data)
        if self._request_count != requests:
            self.head_began = None
        elif self.head_began is None and self.is_idle:
            self.head_began = clock.machine_monotonic()


class ByteParser(Protocol):
    """Receives the bytes of a connection that has been taken over."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]: ...

    def feed_eof(self) -> None: ...


def take_over(request: web.BaseRequest, parser: ByteParser) -> None:
    """Give all further bytes of a request's connection to ``parser``; it ends with the request's handler."""
    request.protocol.set_parser(parser)  # type: ignore[arg-type]
    request.protocol.keep_alive(False)


def drain_of(request: web.BaseRequest) -> Callable[[], Awaitable[None]]:
    """Return the function that waits while the client is behind. It raises ``ConnectionError`` at the end."""
    return request.protocol._drain_helper


class CompletingRequest(web.BaseRequest):
    """A request that adds to the headers of its response."""

    def complete(self, headers: CIMultiDict[str]) -> None:
        """Change the headers of a response that is about to be sent."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        self.complete(response.headers)

    async def drain(self) -> None:
        """Wait until the client has read enough. Raises ``ConnectionError`` when it is gone."""
        await self.writer.drain()


class DirectResponse(web.StreamResponse):
    """A response to an HTTP/1.1 request, whose head and body are sent in one write. ``end`` follows the body.

    The constructor of aiohttp's class is not called: what it sets up is for headers that may be anything, and
    all that a connection uses of a response is overridden here.
    """

    def __init__(
        self, request: CompletingRequest, body: bytes, code: int, media_type: str, end: bytes = b""
    ) -> None:
        self.parts = body, code, media_type, end
        self.request: CompletingRequest | None = request
        """The request; None once it is answered."""
        self.is_last = False

    def head(self, request: Any) -> bytes:
        """Return the status line and the headers."""
        raise NotImplementedError

    @property
    def prepared(self) -> bool:
        return self.request is None

    @property
    def status(self) -> int:
        return self.parts[1]

    @property
    def keep_alive(self) -> bool:
        return not self.is_last

    def force_close(self) -> None:
        self.is_last = True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        if self.request is None:
            return None
        answered, self.request = self.request, None
        transport = answered.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        pieces = (self.head(answered), self.parts[0], self.parts[3])
        if len(pieces[1]) < JOINED_BYTES:
            transport.write(b"".join(pieces))
        else:
            transport.writelines(filter(None, pieces))
        if transport.get_write_buffer_size() > WAITS_FROM_BYTES:
            await answered.drain()
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: all has been sent."""
