"""The server's end of one connection on a Unix socket: bytes in, bytes out, in bounded numbers.

Messages are taken in a few at a time. Reading pauses while the client does not read its answers, or while too
many of its requests are under way. A client that reads nothing for a minute is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from typing import Any, cast

import msgspec

from podling.apiserver.socket.session import Owner, ProtocolError, Session
from podling.client import messages
from podling.client.base import Unreachable
from podling.client.frames import FrameError, FrameReader, FrameWriter
from podling.client.unix_sockets import peer_of

log = logging.getLogger(__name__)

MESSAGES_AT_ONCE = 64
"""Messages taken in before others get a turn."""
WRITE_BYTES_HIGH = 1024 * 1024
"""With so many bytes that the client has not read, nothing more is taken in or sent."""
SILENCE_SECONDS = 60.0
"""Seconds after which a client that reads nothing is cut off."""


class Connection(asyncio.Protocol):
    """One client, from its connection to its end."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._writer = FrameWriter(self._write)
        self._session = Session(owner, self)
        self._waiting: deque[Any] = deque()
        """Messages that were received and not taken in."""
        self._turn: asyncio.Handle | None = None
        self._is_reading = True
        self._writable: asyncio.Future[None] | None = None
        """Set while the client does not read."""
        self._silence: asyncio.TimerHandle | None = None
        self._server_requests: dict[int, asyncio.Future[bytes]] = {}
        self._last_request = 0
        self.component = ""
        """The name that the client has given itself."""
        self.pid = 0

    @property
    def is_writable(self) -> bool:
        return self._writable is None

    async def writable(self) -> None:
        """Wait until the client reads."""
        while self._writable is not None:
            await asyncio.shield(self._writable)

    def send(self, message: Any) -> None:
        """Send a message; nothing happens if the client is gone. Raises ``FrameError`` if it is too large."""
        if self._transport is not None and not self._transport.is_closing():
            self._writer.add(message)

    async def request(self, verb: str, body: bytes, seconds: float) -> bytes:
        """Send a request to the client and return its answer. Raises ``Unreachable``."""
        self._last_request += 1
        number = self._last_request
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._server_requests[number] = answer
        try:
            self.send(messages.ServerRequest(number, verb, body))
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise Unreachable(f"{self.component}: no answer to {verb} in {seconds:g} s") from None
        finally:
            del self._server_requests[number]

    def answered(self, answer: messages.ClientReply) -> None:
        """Take an answer of the client."""
        waiting = self._server_requests.get(answer.id)
        if waiting is None or waiting.done():
            return
        if answer.error:
            waiting.set_exception(Unreachable(f"{self.component}: {answer.error}"))
        else:
            waiting.set_result(answer.body)

    async def stop(self, seconds: float) -> None:
        """End every stream, let running requests finish, and close."""
        await self._session.finish(seconds)
        self._close()

    def proceed(self) -> None:
        """Take in more messages, soon, if some wait and there is capacity for them."""
        full = self._session.is_full or not self.is_writable
        if self._waiting and not full and self._turn is None:
            self._turn = self._loop.call_soon(self._take_some)
        self._read(not (self._waiting or full))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by their class
        self._transport.set_write_buffer_limits(high=WRITE_BYTES_HIGH)
        self.pid, uid = peer_of(transport.get_extra_info("socket"))
        if uid not in (0, os.geteuid()):
            log.warning("refused the connection of process %d of user %d", self.pid, uid)
            self._transport.abort()
            return
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._waiting.append(messages.read_from_client(frame))
        except (FrameError, msgspec.MsgspecError) as error:
            self._refuse(error)
            return
        if self._turn is None:
            self._take_some()

    def connection_lost(self, error: Exception | None) -> None:
        self._waiting.clear()
        if self._turn is not None:
            self._turn.cancel()
        for answer in self._server_requests.values():
            if not answer.done():
                answer.set_exception(Unreachable(f"{self.component}: the connection is lost"))
        self.resume_writing()
        self._session.close()
        self._owner.closed(self)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()
            self._silence = self._loop.call_later(SILENCE_SECONDS, self._cut_off)
            self._read(False)

    def resume_writing(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None
            self.proceed()

    def _take_some(self) -> None:
        self._turn = None
        try:
            for _ in range(MESSAGES_AT_ONCE):
                if not self._waiting or self._session.is_full or not self.is_writable:
                    break
                self._session.take(self._waiting.popleft())
        except (ProtocolError, msgspec.MsgspecError) as error:
            self._refuse(error)
        else:
            self.proceed()

    def _refuse(self, error: Exception) -> None:
        log.warning("closing the connection of process %d (%s): %s", self.pid, self.component, error)
        self._waiting.clear()
        self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._writer.flush()
            self._transport.close()

    def _cut_off(self) -> None:
        log.warning(
            "closing the connection of process %d (%s): it has read nothing for %g s",
            self.pid,
            self.component,
            SILENCE_SECONDS,
        )
        if self._transport is not None:
            self._transport.abort()

    def _read(self, wanted: bool) -> None:
        """Read from the client, or pause, as ``wanted``."""
        transport = self._transport
        if wanted == self._is_reading or transport is None or transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _write(self, data: bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
