"""Free space for incoming data: images and archives never fill a file system."""

from __future__ import annotations

import errno
import os
from pathlib import Path

RESERVE_SHARE = 20
"""One part in so many of the file system stays free for the node itself ..."""
RESERVE_BYTES_MAX = 1 << 30
"""... but no more than this."""

_BLOCK = 4096
_LOOK_AGAIN_BYTES = 16 << 20
_LOOK_AGAIN_FILES = 1000


def room(path: Path) -> tuple[int, int]:
    """Return the bytes and files that the file system of ``path`` still takes beside the reserve.

    Raises ``OSError``.
    """
    found = os.statvfs(path)
    reserve = min(found.f_blocks * found.f_frsize // RESERVE_SHARE, RESERVE_BYTES_MAX)
    files = found.f_favail - found.f_files // RESERVE_SHARE if found.f_files else 1 << 62
    return found.f_bavail * found.f_frsize - reserve, files


def check_room(path: Path, wanted: int = 0) -> None:
    """Raise ``OSError`` (``ENOSPC``) unless ``wanted`` more bytes leave the reserve untouched."""
    size, files = room(path)
    if size <= wanted or files <= 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Space:
    """Counts what one writer adds below ``path``, and looks at the file system again every few megabytes.

    Other writers are noticed at the next look.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = self._files = 0

    def take(self, size: int, files: int = 0) -> None:
        """Announce ``size`` bytes and ``files`` new names. Raises ``OSError``, ``ENOSPC`` when they do not
        fit beside the reserve."""
        self._bytes -= -(-size // _BLOCK) * _BLOCK + files * _BLOCK
        self._files -= files
        if self._bytes > 0 and self._files > 0:
            return
        have, names = room(self._path)
        if have <= size or names <= files:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._bytes = min(_LOOK_AGAIN_BYTES, (have - size) // 4)
        self._files = min(_LOOK_AGAIN_FILES, (names - files) // 4)
