"""A simulated container's log: the lines a real one would have in its CRI log file, kept in memory.

It is read through the same interface as log files (``podling.kubelet.server.logs``): ``read`` gives bytes of
CRI format from an offset, ``wait`` returns when there is more. The oldest lines give way beyond
``LINES_MAX`` so that a simulated day of a thousand nodes fits in memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import datetime

from podling.runtime.cri_log import format_line

LINES_MAX = 1000


class MemoryLog:
    """Lines in CRI format, oldest first. ``end`` counts all bytes ever written."""

    __slots__ = ("_grown", "_lines", "end", "start")

    def __init__(self) -> None:
        self._lines: deque[bytes] | None = None  # made when first written: most containers say nothing
        self._grown: asyncio.Event | None = None
        self.start = 0
        """Offset of the oldest byte still kept."""
        self.end = 0

    def write(self, at: datetime, text: bytes, stream: str = "stdout") -> None:
        """Add one whole line; ``text`` has no newline."""
        line = format_line(at, stream, text)
        if self._lines is None:
            self._lines = deque()
        self._lines.append(line)
        self.end += len(line)
        if len(self._lines) > LINES_MAX:
            self.start += len(self._lines.popleft())
        if self._grown is not None:
            self._grown.set()

    def read(self, offset: int = 0) -> bytes:
        """Everything from ``offset`` on that is still kept."""
        return b"".join(self._lines or ())[max(0, offset - self.start) :]

    async def wait(self, offset: int) -> None:
        """Return when there is something beyond ``offset``."""
        while self.end <= offset:
            if self._grown is None:
                self._grown = asyncio.Event()
            self._grown.clear()
            await self._grown.wait()
