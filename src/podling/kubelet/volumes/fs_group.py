"""``fsGroup``: gives a volume's files to a group that all the pod's processes belong to.

The group may read and write files as far as their owner may; new files inherit the group of their
directory (``pkg/volume/volume_linux.go``).
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from podling.files.trees import walk

_DIRECTORY_BITS = 0o2000 | 0o110
_GROUP_BITS = 0o660
_PATH = os.O_PATH | os.O_CLOEXEC


def set_ownership(root: Path, group: int, *, only_on_mismatch: bool = False) -> None:
    """Give ``root`` and everything below to ``group``. Links are not followed.

    ``only_on_mismatch``: change nothing if the root already has the group and its permissions
    (``fsGroupChangePolicy: OnRootMismatch``).
    """
    if only_on_mismatch and _matches(root, group):
        return
    for directory, name, _ in walk(root):
        with suppress(FileNotFoundError):
            _own(os.open(name, _PATH | os.O_NOFOLLOW, dir_fd=directory), group)
    _own(os.open(root, _PATH), group)


def _matches(root: Path, group: int) -> bool:
    status = root.stat()
    wanted = 0o2000 | 0o770
    return status.st_gid == group and status.st_mode & wanted == wanted


def _own(descriptor: int, group: int) -> None:
    """Change the open file, and close it: a container may have given its name to another file by now."""
    try:
        status = os.fstat(descriptor)
        itself = f"/proc/self/fd/{descriptor}"
        os.chown(itself, -1, group)
        if stat.S_ISLNK(status.st_mode):
            return
        mode = stat.S_IMODE(status.st_mode) | _GROUP_BITS
        if stat.S_ISDIR(status.st_mode):
            mode |= _DIRECTORY_BITS
        os.chmod(itself, mode)
    finally:
        os.close(descriptor)
