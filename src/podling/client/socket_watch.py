"""A watch over a Unix socket: events as the server sends them, decoded when they are taken."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from podling import clock
from podling.client.base import WatchEvent, WatchEventType
from podling.client.messages import Events
from podling.client.socket_connection import Stream
from podling.machinery.encoding import codec
from podling.machinery.scheme import Resource

WINDOW_BYTES = 1024 * 1024
"""Bytes of events that the server sends before the reader has taken some."""

EVENTS_AT_ONCE = 16
"""Events taken in one turn of the event loop: with the work of all their readers each takes up to 0.3 ms."""

EVENT_TYPES = (
    WatchEventType.ADDED,
    WatchEventType.MODIFIED,
    WatchEventType.DELETED,
    WatchEventType.BOOKMARK,
)
"""The types by their numbers in ``Events``."""


class SocketWatch:
    """An async iterator of ``WatchEvent``. ``failed`` is raised by the first step, if given."""

    def __init__(self, stream: Stream | None, resource: Resource, failed: Exception | None = None) -> None:
        self._stream, self._resource, self._failed = stream, resource, failed
        self._events = Events(0, b"", [])
        self._position = 0
        self._taken_bytes = 0

    def __aiter__(self) -> SocketWatch:
        return self

    async def __anext__(self) -> WatchEvent[Any]:
        if self._failed is not None:
            raise self._failed
        while self._position == len(self._events.objects):
            await self._read()
        position = self._position
        if position and position % EVENTS_AT_ONCE == 0:
            await clock.sleep(0)  # other work gets a turn: the server sends very many events at once
        self._position += 1
        data = self._events.objects[position]
        self._taken_bytes += len(data)
        return WatchEvent(EVENT_TYPES[self._events.types[position]], codec.decode(data, self._resource.type))

    async def aclose(self) -> None:
        """End the watch, also at the server."""
        self._end()

    def __del__(self) -> None:
        if getattr(self, "_stream", None) is not None:
            with suppress(RuntimeError):  # the loop may be closed
                self._end()

    async def _read(self) -> None:
        if self._stream is None:
            raise StopAsyncIteration
        if self._taken_bytes * 2 >= WINDOW_BYTES:
            self._stream.add_credit(self._taken_bytes)
            self._taken_bytes = 0
        if self._stream.is_ready:
            await clock.sleep(0)
        self._events, self._position = await self._stream.next(), 0

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
