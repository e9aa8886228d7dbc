"""One accepted connection, from its acceptance to its end: silent, shaking hands, and open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from podling import clock
from podling.streaming.aiohttp_internals import ServerConnection


class Accepted:
    """A connection. ``since`` is the moment of its acceptance, on the monotonic clock."""

    def __init__(self, connection: socket.socket, peer: str) -> None:
        self.connection = connection
        self.peer = peer
        self.since = clock.machine_monotonic()
        self.protocol: ServerConnection | None = None
        self.transport: asyncio.Transport | None = None
        self.opening: asyncio.Task[None] | None = None
        self.silent_seconds = 0.0
        """The time until the client sent something; not counted where there is no handshake."""
        self._awaits_greeting = False
        self._closing_since: float | None = None

    @property
    def is_idle(self) -> bool:
        """True if no request is being served: the handshake or a request's head is not complete."""
        return self.protocol is None or self.protocol.is_idle

    def await_greeting(self, greeted: Callable[[Accepted], None]) -> None:
        """Call ``greeted`` once the client has sent something, or has gone."""

        def ready() -> None:
            self._stop_awaiting()
            self.silent_seconds = clock.machine_monotonic() - self.since
            greeted(self)

        self._awaits_greeting = True
        asyncio.get_running_loop().add_reader(self.connection, ready)

    def is_late(self, now: float, *, head: float, request: float) -> bool:
        """Return whether a request's head takes too long, or the client does not read the rest at the end.

        Args:
            head: seconds for the first bytes, and for a request's head.
            request: seconds for reading the rest.
        """
        if self.transport is not None and self.transport.is_closing():
            if self._closing_since is None:
                self._closing_since = now
            return now - self._closing_since >= request
        began = self.since if self._awaits_greeting else None
        if self.protocol is not None:
            began = self.protocol.head_began
        return began is not None and now - began >= head

    def abort(self) -> None:
        """Close at once: a peer that does not read would hold up an orderly end."""
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()
        else:
            self._stop_awaiting()
            self.connection.close()

    def cut(self) -> None:
        """End a connection before its handshake. The loop reads the end and closes the descriptor, which no
        other code may close while the loop polls it."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _stop_awaiting(self) -> None:
        if self._awaits_greeting:
            self._awaits_greeting = False
            asyncio.get_running_loop().remove_reader(self.connection)
