"""Framing of messages on a Unix socket, used by both of its ends.

A frame is a length of four bytes (big-endian) and so many bytes of MessagePack: one message of
``client.messages``. Messages of one turn of the event loop are written together. Objects are carried as the
JSON bytes that the store has, which neither end decodes for the framing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

HEAD_BYTES = 4
FRAME_BYTES_MAX = 8 * 1024 * 1024
"""The largest frame: larger than any one object, which the API server limits to 3 MiB."""

PIECE_BYTES = 256 * 1024
"""Answers of several objects are sent in frames of about this size, so that others get a turn in between."""

WRITTEN_BYTES = 256 * 1024
"""Messages of so many bytes are written before the turn of the event loop ends."""


class FrameError(Exception):
    """The bytes are no frame, or the message is too large for one."""


class FrameReader:
    """Cuts received bytes into frames."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        """The beginning of a frame, as it was received."""
        self._size = 0
        self._wanted = HEAD_BYTES
        """Bytes that are needed before another frame, or its length, can be read."""

    def feed(self, data: bytes) -> Iterator[memoryview]:
        """Yield the frames that ``data`` completes. Raises ``FrameError`` for a frame that is too large."""
        if self._pieces:
            self._pieces.append(data)
            self._size += len(data)
            if self._size < self._wanted:
                return
            data = b"".join(self._pieces)
            self._pieces.clear()
        view, position, end = memoryview(data), 0, len(data)
        while end - position >= HEAD_BYTES:
            length = int.from_bytes(view[position : position + HEAD_BYTES], "big")
            if length > FRAME_BYTES_MAX:
                raise FrameError(f"a frame of {length} bytes is larger than {FRAME_BYTES_MAX}")
            following = position + HEAD_BYTES + length
            if following > end:
                self._wanted = HEAD_BYTES + length
                break
            yield view[position + HEAD_BYTES : following]
            position = following
        else:
            self._wanted = HEAD_BYTES
        self._size = end - position
        if self._size:
            self._pieces.append(bytes(view[position:]))


class FrameWriter:
    """Collects the messages of one turn of the event loop and writes them together.

    Args:
        write: takes the bytes; those of a closed connection are dropped by it.
    """

    def __init__(self, write: Callable[[bytearray], object]) -> None:
        self._write = write
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._buffer = bytearray()
        self._flush: asyncio.Handle | None = None
        self._loop = asyncio.get_running_loop()

    def add(self, message: Any) -> None:
        """Send ``message`` with the others of this turn. Raises ``FrameError`` if it is too large."""
        buffer = self._buffer
        start = len(buffer)
        buffer += b"\0\0\0\0"
        self._encode_into(message, buffer, -1)
        length = len(buffer) - start - HEAD_BYTES
        if length > FRAME_BYTES_MAX:
            del buffer[start:]
            raise FrameError(f"a message of {length} bytes is larger than {FRAME_BYTES_MAX}")
        buffer[start : start + HEAD_BYTES] = length.to_bytes(HEAD_BYTES, "big")
        if len(buffer) >= WRITTEN_BYTES:
            self.flush()
        elif self._flush is None:
            self._flush = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what was collected."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._buffer:
            buffer, self._buffer = self._buffer, bytearray()
            self._write(buffer)
