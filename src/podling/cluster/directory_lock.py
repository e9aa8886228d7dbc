"""The lock of a data directory: the process that holds it runs the cluster, and is recorded by its id."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from podling import clock
from podling.cluster.directory_errors import DirectoryInUse, DirectoryUnusable
from podling.files import locks
from podling.files.private import open_private

ORPHANS_SECONDS = 10.0
"""The time that the processes of a killed supervisor, which the kernel kills, may take to end."""
ORPHANS_LOOK_SECONDS = 0.01


class DirectoryLock:
    """The lock of the data directory at ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the directory for this process. Raises ``DirectoryInUse`` or ``DirectoryUnusable``."""
        with open_private(self._path / "lock", "ab") as handle:
            self._lock(handle)
            pid_file = self._path / "podling.pid"
            with contextlib.suppress(OSError), open_private(pid_file, "wb") as file:
                file.write(
                    f"{os.getpid()}\n".encode()
                )  # a full disk must not keep the owner from freeing space
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    pid_file.unlink(missing_ok=True)

    def _lock(self, handle: IO[bytes]) -> None:
        """Take the lock. The parts of a cluster whose supervisor was killed hold it for a moment longer."""
        deadline = clock.monotonic() + ORPHANS_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                # The kernel goes on to name a holder that has ended.
                owner = locks.holder_of(handle.fileno()) or self._recorded_pid()
                if not owner or locks.is_alive(owner) or clock.monotonic() >= deadline:
                    raise DirectoryInUse(self._path, self._holder(handle)) from None
            select.select([], [], [], ORPHANS_LOOK_SECONDS)

    def running_pid(self) -> int:
        """Return the process that runs this cluster now, 0 if none does.

        Raises ``DirectoryUnusable`` where another user runs it, or another program holds its lock.
        """
        try:
            with (self._path / "lock").open("rb") as handle:
                if locks.holder_of(handle.fileno()):
                    return self._holder(handle)
                # The holder may be unknown: only then try the lock, which a concurrent start could meet.
                if self._recorded_pid():
                    try:
                        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    except BlockingIOError:
                        return self._recorded_pid()
        except PermissionError as error:
            raise DirectoryUnusable(f"the cluster at {self._path} belongs to another user") from error
        except OSError:
            return 0
        return 0

    def _holder(self, lock: IO[bytes]) -> int:
        """Return the process that runs this cluster and holds its lock, 0 if unknown.

        The process id of a killed cluster may belong to anything by now. Raises ``DirectoryUnusable`` where
        the lock's holder is no cluster: neither has it recorded itself, which it could not on a full disk,
        nor does it show a data directory in its command line.
        """
        holder, recorded = locks.holder_of(lock.fileno()), self._recorded_pid()
        shown = (argument.startswith("--data-dir") for argument in locks.arguments_of(holder))
        if holder and holder != recorded and not any(shown):
            raise DirectoryUnusable(
                f"data directory {self._path} is locked by process {holder} ({locks.name_of(holder)}), which "
                "runs no cluster; end it first"
            )
        return holder or recorded

    def _recorded_pid(self) -> int:
        try:
            return int((self._path / "podling.pid").read_text())
        except (OSError, ValueError):
            return 0
