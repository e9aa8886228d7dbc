"""A server's HTTP/1.1 connection that knows for how long its client has owed it a request's head."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from podling import clock


class ServerConnection(web.RequestHandler):
    """aiohttp's connection; ``lost`` is called at its end.

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
        """Whether no request is being served."""
        return self._current_request is None and not self._messages

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.head_began = clock.monotonic()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._lost()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """End as aiohttp does; a client that does not read what is left holds nothing up.

        TLS has a time-out of its own for that.
        """
        transport = self.transport
        plain = transport is not None and transport.get_extra_info("sslcontext") is None
        await super().shutdown(timeout)
        if plain and transport is not None and transport.get_write_buffer_size():
            transport.abort()

    def data_received(self, data: bytes) -> None:
        requests = self._request_count
        super().data_received(data)
        if self._request_count != requests:
            self.head_began = None
        elif self.head_began is None and self.is_idle:
            self.head_began = clock.monotonic()
