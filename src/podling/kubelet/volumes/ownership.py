"""``fsGroup``: a volume's files belong to a group that all the pod's processes are in.

Files become readable and writable for the group as far as their owner may, directories hand the group
down to new files (``pkg/volume/volume_linux.go``).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_DIRECTORY_BITS = 0o2000 | 0o110
_GROUP_BITS = 0o660


def set_ownership(root: Path, group: int, *, only_on_mismatch: bool = False) -> None:
    """Give ``root`` and everything below to ``group``. Links are not followed.

    ``only_on_mismatch``: leave all as it is if the root already is as it should be
    (``fsGroupChangePolicy: OnRootMismatch``).
    """
    if only_on_mismatch and _matches(root, group):
        return
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            _own(Path(directory) / name, group)
    _own(root, group)


def _matches(root: Path, group: int) -> bool:
    status = root.stat()
    wanted = 0o2000 | 0o770
    return status.st_gid == group and status.st_mode & wanted == wanted


def _own(path: Path, group: int) -> None:
    os.chown(path, -1, group, follow_symlinks=False)
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return
    mode = stat.S_IMODE(status.st_mode) | _GROUP_BITS
    if stat.S_ISDIR(status.st_mode):
        mode |= _DIRECTORY_BITS
    path.chmod(mode)
