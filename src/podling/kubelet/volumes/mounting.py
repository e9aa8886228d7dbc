"""Mounts on the node: memory file systems for volumes, by direct system calls.

No helper programs: a pod's start must not wait for a process that makes one system call.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
from functools import cache
from pathlib import Path

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MNT_DETACH = 2


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6", use_errno=True)


def is_mount_point(path: Path) -> bool:
    """Return whether a file system is mounted at ``path``; False if the path does not exist."""
    return os.path.ismount(path)


def mount_tmpfs(path: Path, *, size_bytes: int | None = None, flags: int = 0, mode: str = "0777") -> bool:
    """Mount a memory file system at ``path``; return False if the process has no right to mount.

    Raises ``OSError`` for any other failure.
    """
    options = f"mode={mode}" + (f",size={size_bytes}" if size_bytes is not None else "")
    return _mount("tmpfs", "tmpfs", path, flags, options)


def mount_hugetlbfs(path: Path, page_bytes: int) -> bool:
    """Mount a file system of huge pages; return False without the right to mount. Raises ``OSError``."""
    return _mount("nodev", "hugetlbfs", path, 0, f"pagesize={page_bytes}")


def _mount(source: str, kind: str, path: Path, flags: int, options: str) -> bool:
    arguments = (source.encode(), os.fsencode(path), kind.encode(), flags, options.encode())
    if _libc().mount(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EPERM, errno.EACCES):
        return False
    raise OSError(number, os.strerror(number), str(path))


def unmount(path: Path) -> None:
    """Unmount ``path``; it is no error if nothing is mounted there. Raises ``OSError``."""
    if not is_mount_point(path):
        return
    if _libc().umount2(os.fsencode(path), MNT_DETACH) != 0:
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOENT):
            raise OSError(number, os.strerror(number), str(path))
