"""One process per store: an advisory lock that ends with its holder, however that ends.

The lock is taken on a file of its own beside the store, never on the store: closing any descriptor of
a file drops the POSIX locks SQLite holds on it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from podling.store.base import StoreLocked


class LockFile:
    """Holds ``path`` locked until ``release``. Raises ``StoreLocked`` while another holds it."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            by = f"process {holder}" if holder else "another process"
            raise StoreLocked(f"{path} is locked: {by} has this store open") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Unlock. The file stays: removing it would let two holders lock two files of one name."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
