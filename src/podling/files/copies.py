"""Copying a tree that others made, and may be changing: its files as they are, and nothing that they lead to.

A device or a FIFO is made anew and never opened: to read a device is to read the node's disk, and a FIFO
may have no end. Each directory is reached by descriptors from the top, following no link, so a container that
exchanges directories and links meanwhile cannot lead the copy out of the tree.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from podling.files.space import Space

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SOURCE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 18


def copy_tree(source: int, target: Path) -> None:
    """Copy the contents of the open directory ``source`` to the new ``target``, with owners and modes.

    What vanishes meanwhile is left out, and so are sockets, which mean nothing without their process.
    Raises ``OSError``, ``ENOSPC`` before the file system is full.
    """
    target.mkdir()
    copy_contents(source, target)


def copy_contents(source: int, target: Path) -> None:
    """As ``copy_tree``, to a ``target`` that is there and empty."""
    top = os.open(target, _DIRECTORY)
    space = Space(target)
    try:
        waiting = deque([""])
        made: list[tuple[str, os.stat_result]] = []
        while waiting:
            directory = waiting.popleft()
            with suppress(FileNotFoundError), _opened(source, directory) as here:
                made.append((directory or ".", os.fstat(here)))
                for name in os.listdir(here):
                    with suppress(FileNotFoundError):
                        waiting.extend(_copy_entry(here, name, top, f"{directory}{name}", space))
        for directory, status in reversed(made):
            _dress(top, directory, status)
    finally:
        os.close(top)


@contextmanager
def _opened(source: int, directory: str) -> Iterator[int]:
    """Open a directory below ``source`` name by name. Raises ``FileNotFoundError`` if it is none any more."""
    here = os.dup(source)
    try:
        for name in directory.split("/")[:-1]:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=here)
            except NotADirectoryError as error:
                raise FileNotFoundError(*error.args) from None
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _copy_entry(here: int, name: str, top: int, path: str, space: Space) -> Iterator[str]:
    """Copy what ``name`` is in the open directory; yield its path if it is a directory."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    try:
        status = os.fstat(found)
        space.take(0, 1)
        if stat.S_ISDIR(status.st_mode):
            os.mkdir(path, 0o700, dir_fd=top)
            yield f"{path}/"
        elif not stat.S_ISSOCK(status.st_mode):
            _copy(found, top, path, status, space)
    finally:
        os.close(found)


def _copy(found: int, top: int, path: str, status: os.stat_result, space: Space) -> None:
    """Copy what the ``O_PATH`` descriptor stands for: no other file can take its place meanwhile."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink("", dir_fd=found), path, dir_fd=top)
        _dress(top, path, status)
    elif stat.S_ISREG(mode):
        with (
            open(os.open(f"/proc/self/fd/{found}", _SOURCE), "rb") as old,
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
