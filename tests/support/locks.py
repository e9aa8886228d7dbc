"""Locks that another process of the machine holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLDER = """
import fcntl, sys
handle = open(sys.argv[1], "ab")
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another(path: Path, *arguments: str) -> Iterator[int]:
    """Let another process hold the lock of a file as long as the block lasts; yields its id.

    ``arguments`` are shown in its command line.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder.pid
        finally:
            holder.stdin.close()
