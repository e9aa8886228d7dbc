"""Compression of answers, in one thread beside the event loop.

zlib lets go of the interpreter's lock while it compresses. One thread for all answers leaves the other cores
to the event loop: with a thread for each of many answers, the loop would wait for a core.
"""

from __future__ import annotations

import asyncio
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache

GZIP_FROM_BYTES = 128 * 1024
"""Shorter answers are not compressed."""
GZIP_LEVEL = 1
GZIP_WINDOW = 31
"""zlib's window size that writes a gzip header."""


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "podling-gzip")


class Gzip:
    """The gzip form of one answer, piece by piece."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)

    async def add(self, piece: bytes) -> bytes:
        """Return the compressed bytes that are complete after ``piece``; perhaps none."""
        if len(piece) < GZIP_FROM_BYTES:
            return self._compressor.compress(piece)
        return await asyncio.get_running_loop().run_in_executor(_thread(), self._compressor.compress, piece)

    async def end(self, piece: bytes = b"") -> bytes:
        """Return the rest, after a last ``piece``."""
        return await self.add(piece) + self._compressor.flush()
