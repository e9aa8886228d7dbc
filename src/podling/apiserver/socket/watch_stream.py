"""Watches of a client of the Unix socket, sent as fast as the client takes them and no faster.

The client gives each stream a window of bytes, and more as it takes what was sent. Without any, events wait
in the store's hub, which ends a watch that is too far behind.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.watch import ObjectWatch
from podling.client.frames import PIECE_BYTES
from podling.client.messages import Ended, Events, Failure
from podling.client.socket_watch import EVENT_TYPES
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource

log = logging.getLogger(__name__)

_NUMBERS = {event_type: number for number, event_type in enumerate(EVENT_TYPES)}


class Outlet(Protocol):
    """Takes messages for one client."""

    @property
    def is_writable(self) -> bool: ...

    async def writable(self) -> None:
        """Wait until the client reads."""
        ...

    def send(self, message: Any) -> None: ...


class Window:
    """The bytes that a stream may still send."""

    def __init__(self, outlet: Outlet, size: int) -> None:
        self._outlet = outlet
        self._size = size
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._size > 0 and self._outlet.is_writable

    def use(self, size: int) -> None:
        self._size -= size

    def add(self, size: int) -> None:
        self._size += size
        if self._waiter is not None and not self._waiter.done() and self._size > 0:
            self._waiter.set_result(None)

    async def opened(self) -> None:
        """Wait until something may be sent."""
        while not self.is_open:
            if self._size <= 0:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
                self._waiter = None
            await self._outlet.writable()


class WatchStream:
    """Sends the events of one watch until it ends or is closed."""

    def __init__(
        self,
        outlet: Outlet,
        number: int,
        window: int,
        watch: ObjectWatch,
        resource: Resource,
        registry: Registry,
    ) -> None:
        self._outlet, self._number = outlet, number
        self._window = Window(outlet, window)
        self._watch, self._resource, self._reads = watch, resource, registry.reads
        self._as_stored = resource.storage is None and not isinstance(resource, CustomResource)
        self.task = asyncio.get_running_loop().create_task(self._run())

    def add_credit(self, size: int) -> None:
        self._window.add(size)

    def close(self) -> None:
        """End the watch, and the task of the stream with it."""
        self._watch.close()
        if not self._window.is_open:
            self.task.cancel()

    async def _run(self) -> None:
        try:
            async for change in self._watch:
                await self._send((change, *self._watch.ready()))
        except ApiError as error:
            self._outlet.send(Failure(self._number, codec.encode(error.status)))
        except Exception as error:
            log.exception("a watch of %s failed", self._resource.plural)
            status = errors.internal(f"{type(error).__name__}: {error}").status
            self._outlet.send(Failure(self._number, codec.encode(status)))
        else:
            self._outlet.send(Ended(self._number))
        finally:
            self._watch.close()

    async def _send(self, changes: tuple[Any, ...]) -> None:
        """Send events, and wait until there may be others."""
        reads, resource = self._reads, self._resource
        if not self._as_stored:
            await reads.prepare(resource, [each.entry for each in changes])
        types, objects, size = bytearray(), list[bytes](), 0
        for each in changes:
            entry = each.entry if self._as_stored else reads.shown_entry(resource, each.entry)
            types.append(_NUMBERS[each.type])
            objects.append(entry.value)
            size += len(entry.value)
            if size >= PIECE_BYTES:
                await self._send_piece(types, objects, size)
                types, objects, size = bytearray(), [], 0
        if objects:
            await self._send_piece(types, objects, size)

    async def _send_piece(self, types: bytearray, objects: list[bytes], size: int) -> None:
        self._outlet.send(Events(self._number, bytes(types), objects))
        self._window.use(size)
        if not self._window.is_open:
            await self._window.opened()
