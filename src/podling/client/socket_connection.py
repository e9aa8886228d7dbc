"""The client's end of one connection to an API server's Unix socket: requests and their answers by id.

Bytes and messages only; ``client.socket_backend`` adds objects and opens another connection when one is lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import msgspec

from podling.api.meta_v1 import Status
from podling.client import messages
from podling.client.base import Unreachable
from podling.client.frames import FrameError, FrameReader, FrameWriter
from podling.client.messages import Cancel, Ended, Failure, Reply, ServerRequest, Welcome
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.supervisor import Supervisor

log = logging.getLogger(__name__)

WRITE_BYTES_HIGH = 1024 * 1024
"""With so many bytes that the server has not read, requests wait before they are sent."""

CLOSE_SECONDS = 1.0
"""The time that a server has to read the last messages of a client that ends."""

Answering = Callable[[bytes], Awaitable[bytes]]
"""Answers requests of the server."""


class SocketConnection(asyncio.Protocol):
    """One connection, from ``Hello`` to its end.

    Args:
        path: the socket, for messages to people.
        answering: how to answer requests of the server, by verb.
    """

    def __init__(self, path: str, component: str, answering: dict[str, Answering]) -> None:
        self._path, self._component, self._answering = path, component, answering
        loop = asyncio.get_running_loop()
        self.welcomed: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self._why = ""
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._writer = FrameWriter(self._write)
        self._last_id = 0
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._streams: dict[int, Stream] = {}
        self._writable: asyncio.Future[None] | None = None
        """Set while the server does not read."""
        self._supervisor = Supervisor()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self.lost.done()

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def send(self, message: Any) -> None:
        """Send a message that has no answer. Raises ``Unreachable``, or ``ApiError`` 413."""
        self._check()
        try:
            self._writer.add(message)
        except FrameError as error:
            raise errors.too_large(str(error)) from None

    async def call(self, number: int, message: Any) -> Reply:
        """Send a request with the id ``number`` and return the reply.

        A caller that is cancelled cancels the request. Raises ``ApiError`` and ``Unreachable``.
        """
        while self._writable is not None:
            await asyncio.shield(self._writable)
        self.send(message)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        try:
            return await reply
        except asyncio.CancelledError:
            if self._replies.pop(number, None) is not None:
                self.cancel(number)
            raise

    def open(self, number: int, message: Any) -> Stream:
        """Send a request with the id ``number`` whose answer is a stream."""
        self.send(message)
        stream = self._streams[number] = Stream(self, number)
        return stream

    def forget(self, number: int) -> None:
        """Take no more parts of a stream."""
        self._streams.pop(number, None)

    def cancel(self, number: int) -> None:
        """Cancel a request at the server: nothing waits for its answer any more."""
        self.forget(number)
        if self.is_open:
            self._writer.add(Cancel(number))

    def close(self, why: str = "the connection was closed") -> None:
        """Close the connection. Requests that wait for an answer raise ``Unreachable``."""
        self._why = self._why or why
        if self._transport is not None:
            self._writer.flush()
            self._transport.close()

    async def wait_closed(self) -> None:
        """Wait until the connection and the work of this process for the server have ended."""
        if self._transport is not None:
            await asyncio.shield(self.lost)
        await self._supervisor.close()

    async def wait_aborted(self) -> None:
        """As ``wait_closed``, but without a server that does not read what was sent."""
        await asyncio.wait([self.lost], timeout=CLOSE_SECONDS)
        if self._transport is not None:
            self._transport.abort()
        await self.wait_closed()

    def unreachable(self) -> Unreachable:
        return Unreachable(f"{self._path}: {self._why or 'the connection is lost'}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by their class
        self._transport.set_write_buffer_limits(high=WRITE_BYTES_HIGH)
        self._writer.add(messages.Hello(messages.VERSION, self._component, os.getpid()))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._take(messages.read_from_server(frame))
        except (FrameError, msgspec.MsgspecError) as error:
            log.warning("closing the connection to %s: %s", self._path, error)
            self.close(f"the server's answer cannot be read: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        self._why = self._why or str(error or "the server has closed the connection")
        if not self.lost.done():
            self.lost.set_result(None)
        if not self.welcomed.done():
            self.welcomed.set_result(None)
        self.resume_writing()
        for reply in self._replies.values():
            self._raise(reply, self.unreachable())
        self._replies.clear()
        for stream in self._streams.values():
            stream.fail(self.unreachable())
        self._streams.clear()

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None

    def _write(self, data: bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _check(self) -> None:
        if not self.is_open:
            raise self.unreachable()

    def _take(self, message: Any) -> None:
        kind = type(message)
        if kind is Reply:
            reply = self._replies.pop(message.id, None)
            if reply is not None and not reply.done():
                reply.set_result(message)
        elif kind is Failure:
            self._fail(message)
        elif kind is Welcome:
            self._begin(message)
        elif kind is ServerRequest:
            self._supervisor.run_once("client/socket", partial(self._answer, message), message.verb)
        elif kind is Ended:
            if (stream := self._streams.pop(message.id, None)) is not None:
                stream.finish()
        elif (stream := self._streams.get(message.id)) is not None:
            stream.put(message)

    def _begin(self, message: Welcome) -> None:
        if message.version != messages.VERSION:
            self.close(f"the server uses version {message.version} of the protocol, not {messages.VERSION}")
        elif not self.welcomed.done():
            self.welcomed.set_result(None)

    def _fail(self, failure: Failure) -> None:
        error = ApiError(msgspec.json.decode(failure.status, type=Status))
        reply = self._replies.pop(failure.id, None)
        if reply is not None:
            self._raise(reply, error)
        elif (stream := self._streams.pop(failure.id, None)) is not None:
            stream.fail(error)

    def _raise(self, reply: asyncio.Future[Reply], error: Exception) -> None:
        if not reply.done():
            reply.set_exception(error)
            reply.exception()  # those that wait for it may all have been cancelled: nothing is to be logged

    async def _answer(self, request: ServerRequest) -> None:
        answering = self._answering.get(request.verb)
        body, why = b"", ""
        if answering is None:
            why = f"this process has no answer to {request.verb}"
        else:
            try:
                body = await answering(request.body)
            except Exception as error:  # reported to the server, and by the supervisor
                self.send(messages.ClientReply(request.id, b"", str(error) or type(error).__name__))
                raise
        self.send(messages.ClientReply(request.id, body, why))


class Stream:
    """The parts of one answer, in their order. One reader at a time."""

    def __init__(self, connection: SocketConnection, number: int) -> None:
        self._connection, self._number = connection, number
        self._parts: deque[Any] = deque()
        self._end: Exception | None = None
        self._has_ended = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_ready(self) -> bool:
        """Return whether ``next`` has a part to return at once."""
        return bool(self._parts)

    async def next(self) -> Any:
        """Return the next part. Raises ``StopAsyncIteration`` at the end, ``ApiError`` or ``Unreachable``."""
        while not self._parts:
            if self._has_ended:
                raise self._end or StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._parts.popleft()

    def put(self, part: Any) -> None:
        self._parts.append(part)
        self._wake()

    def finish(self) -> None:
        """End after the parts that have come: the server sends no others."""
        self._connection.forget(self._number)
        self._has_ended = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """End with ``error``, after the parts that have come."""
        self._end, self._has_ended = error, True
        self._wake()

    def add_credit(self, size: int) -> None:
        """Let the server send ``size`` more bytes."""
        if not self._has_ended and self._connection.is_open:
            self._connection.send(messages.Credit(self._number, size))

    def close(self) -> None:
        """End the stream now, also at the server."""
        self._parts.clear()
        if not self._has_ended:
            self._connection.cancel(self._number)
        self.finish()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
