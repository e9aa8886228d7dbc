"""Files that only their owner can read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file for writing that only its owner can read, also where it was readable before."""
    handle = open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    os.fchmod(handle.fileno(), 0o600)
    return handle


def replace_file(path: Path, content: bytes) -> None:
    """Put ``content`` in place of a file at once and for good, also when the power fails."""
    temporary = path.with_name(f"{path.name}.new")
    with open_private(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
