"""Rotation of a detached cluster's own log, so that it cannot fill the disk of its data directory.

The log is the process' standard output and error. Sizes and numbers are those of container logs
(``containerLogMaxSize``, ``containerLogMaxFiles``). Where several processes write it, one rotates it and the
others follow.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from podling import clock

CHECK_SECONDS = 10.0
MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5


class OwnLog:
    """The log of this process at ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def run(self) -> None:
        """Rotate until cancelled."""
        while True:
            self.rotate()
            await clock.machine_sleep(clock.aligned(CHECK_SECONDS))

    async def follow(self) -> None:
        """Follow the rotation of another process until cancelled; ends where the output goes elsewhere."""
        if not self._is_ours():
            return
        while True:
            await clock.machine_sleep(clock.aligned(CHECK_SECONDS))
            self.reopen()

    def reopen(self) -> bool:
        """Write to the file that has the log's name now; return whether it is another than before.

        Raises ``OSError`` where there is none, as in the middle of a rotation.
        """
        if self._is_ours():
            return False
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            self._write_to(descriptor)
        finally:
            os.close(descriptor)
        return True

    def rotate(self) -> bool:
        """Begin a new file if the present one is large enough; return whether it was.

        Raises ``OSError`` where a new file cannot be made, as on a full disk; then nothing has changed.
        """
        if not self._is_ours() or os.fstat(sys.stdout.fileno()).st_size < MAX_BYTES:
            return False
        fresh = self._path.with_name(f"{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(fresh, flags, 0o600)  # which only its owner can read
        try:
            self._shift(fresh)
            self._write_to(descriptor)
        finally:
            os.close(descriptor)
        return True

    @staticmethod
    def _write_to(descriptor: int) -> None:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(descriptor, stream.fileno())

    def _shift(self, fresh: Path) -> None:
        """Give every file the next number, and ``fresh`` the name of the log."""
        for number in range(MAX_FILES - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))
        fresh.replace(self._path)
        self._numbered(MAX_FILES).unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Return whether standard output goes to the log: without ``--detach`` it does not."""
        try:
            return os.path.samestat(os.fstat(sys.stdout.fileno()), os.stat(self._path))
        except (OSError, ValueError):
            return False

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
