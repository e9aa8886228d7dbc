"""The description of a command to execute, which the OCI runtime reads from a pipe.

crun starts the command with its own OOM score instead of the container's. So its own is set to that one; and
because it reads from the pipe what to run, it runs nothing before that.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Description:
    """The pipe with a description, for one process that inherits ``reader``."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)
        with suppress(PermissionError):  # so that no write waits for a process that does not read
            fcntl.fcntl(self._writer, fcntl.F_SETPIPE_SZ, len(content))

    def give(self, pid: int, oom_score: int | None) -> None:
        """Set the process's OOM score, unless it is None, and let it read the description."""
        self._close_reader()
        if oom_score is not None:
            with suppress(OSError):  # the process has ended, or the kernel refuses a lower score
                Path(f"/proc/{pid}/oom_score_adj").write_text(str(oom_score))
        with suppress(BrokenPipeError):  # the process has ended
            os.write(self._writer, self._content)

    def close(self) -> None:
        self._close_reader()
        os.close(self._writer)

    def _close_reader(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1
