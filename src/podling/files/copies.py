"""Copying a tree that others made: its files as they are, and nothing that they lead to.

A device or a FIFO is made anew and never opened: to read a device is to read the node's disk, and a FIFO
may have no end.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import suppress
from pathlib import Path

from podling.files.space import Space

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 18


def copy_tree(source: int, target: Path) -> None:
    """Copy the contents of the open directory ``source`` to the new ``target``, with owners and modes.

    ``source`` must not change meanwhile. Sockets, which mean nothing without their process, are left out.
    Raises ``OSError``, ``ENOSPC`` before the file system is full.
    """
    target.mkdir()
    top = os.open(target, _DIRECTORY)
    space = Space(target)
    try:
        waiting = deque(["."])
        made = []
        while waiting:
            directory = waiting.popleft()
            made.append(directory)
            for name in _names(source, directory):
                path = f"{directory}/{name}"
                status = os.stat(path, dir_fd=source, follow_symlinks=False)
                space.take(0, 1)
                if stat.S_ISDIR(status.st_mode):
                    os.mkdir(path, 0o700, dir_fd=top)
                    waiting.append(path)
                elif not stat.S_ISSOCK(status.st_mode):
                    _copy(source, top, path, status, space)
        for directory in reversed(made):
            _dress(top, directory, os.stat(directory, dir_fd=source))
    finally:
        os.close(top)


def _names(source: int, directory: str) -> list[str]:
    opened = os.open(directory, _DIRECTORY, dir_fd=source)
    try:
        return os.listdir(opened)
    finally:
        os.close(opened)


def _copy(source: int, top: int, path: str, status: os.stat_result, space: Space) -> None:
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(path, dir_fd=source), path, dir_fd=top)
        _dress(top, path, status)
    elif stat.S_ISREG(mode):
        with (
            open(os.open(path, _SOURCE, dir_fd=source), "rb") as old,
            open(os.open(path, _TARGET, 0o600, dir_fd=top), "wb") as new,
        ):
            while data := old.read(_CHUNK):
                space.take(len(data))
                new.write(data)
            new.flush()
            os.fchown(new.fileno(), status.st_uid, status.st_gid)
            os.fchmod(new.fileno(), stat.S_IMODE(mode))
            for attribute in os.listxattr(old.fileno()):
                os.setxattr(new.fileno(), attribute, os.getxattr(old.fileno(), attribute))
            os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    else:
        os.mknod(path, stat.S_IFMT(mode) | 0o600, status.st_rdev, dir_fd=top)
        _dress(top, path, status)


def _dress(top: int, path: str, status: os.stat_result) -> None:
    """Owner, mode and times."""
    os.chown(path, status.st_uid, status.st_gid, dir_fd=top, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        os.chmod(path, stat.S_IMODE(status.st_mode), dir_fd=top)
    with suppress(OSError):
        times = (status.st_atime_ns, status.st_mtime_ns)
        os.utime(path, ns=times, dir_fd=top, follow_symlinks=False)
