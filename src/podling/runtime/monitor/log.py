"""The container's CRI log, written as the output comes (``podling.runtime.cri_log`` has the format)."""

from __future__ import annotations

import contextlib
import os
import time  # noqa: TID251  a process of its own, with no event loop to take time from


class Log:
    """The container's CRI log; lines that come in pieces are written as partial records."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = -1
        self.second, self.prefix = -1, ""
        self.unfinished: set[str] = set()
        self.reopen()

    def reopen(self) -> None:
        fresh = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        if self.file >= 0:
            os.close(self.file)
        self.file = fresh

    def write(self, stream: str, chunk: bytes) -> None:
        head = f"{self.now()} {stream} ".encode()
        *whole, rest = chunk.split(b"\n")
        records = [head + b"F " + line + b"\n" for line in whole]
        if rest:
            records.append(head + b"P " + rest + b"\n")
            self.unfinished.add(stream)
        elif whole:
            self.unfinished.discard(stream)
        self.append(b"".join(records))

    def finish(self) -> None:
        """End lines that the container left without a newline."""
        for stream in sorted(self.unfinished):
            self.append(f"{self.now()} {stream} F \n".encode())
        self.unfinished.clear()

    def append(self, records: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk must not stop the container
            os.write(self.file, records)

    def now(self) -> str:
        second, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        if second != self.second:
            self.second, self.prefix = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self.prefix}.{nanoseconds:09d}Z"
