"""The writer's revision in memory that other processes of the machine map.

A reader that must see every acknowledged write compares its replica with this number. That costs a load from
memory instead of a question to the writer, and still works while the writer is being started again: a
revision is published before its write is acknowledged, so no acknowledged write is missing from it.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

_SIZE = 8
"""Bytes of one unsigned integer, which processors of 64 bits store and load in one piece."""


class SharedRevision:
    """A revision in a file that several processes map. One of them publishes, all may read.

    Args:
        path: the file; created if need be, and otherwise used as it is, because others may have mapped it.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size < _SIZE:
                os.ftruncate(descriptor, _SIZE)
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._cell = memoryview(self._map).cast("Q")

    def publish(self, revision: int) -> None:
        self._cell[0] = revision

    def read(self) -> int:
        return self._cell[0]

    def close(self) -> None:
        self._cell.release()
        self._map.close()
