"""A short queue of chunks between a connection and the reader of its data.

The writer waits while the pipe is full, which slows the sender down. Unlike with an ordinary queue, it does
not wait for a reader that has gone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

LENGTH = 16


class Pipe:
    """Chunks in order, then an end."""

    def __init__(self, length: int = LENGTH) -> None:
        self._chunks: deque[bytes] = deque()
        self._length = length
        self._ended = False
        self._closed = False
        self._changed = asyncio.Event()

    async def put(self, chunk: bytes) -> None:
        """Add a chunk when the pipe is not full. After the end or without a reader it is dropped."""
        while len(self._chunks) >= self._length and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        if not self._ended and not self._closed:
            self._chunks.append(chunk)
            self._changed.set()

    def end(self) -> None:
        """Mark the end; chunks in the pipe are still read."""
        self._ended = True
        self._changed.set()

    def close(self) -> None:
        """Drop all chunks: the reader has gone."""
        self._closed = True
        self._chunks.clear()
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._ended or self._closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        chunk = self._chunks.popleft()
        self._changed.set()
        return chunk
