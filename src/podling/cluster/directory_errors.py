"""The reasons for which a data directory cannot be used."""

from __future__ import annotations

from pathlib import Path

LOCK_RETRY_TEXT = "stop it first ('podling down --data-dir {path}'), or name another --data-dir"


class DirectoryInUse(Exception):
    """Another process runs this cluster. ``pid`` is its process id, 0 if unknown."""

    def __init__(self, path: Path, pid: int) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(f"data directory {path} is in use by {owner}; {LOCK_RETRY_TEXT.format(path=path)}")
        self.pid = pid


class DirectoryUnusable(Exception):
    """The data directory cannot be made or written."""
