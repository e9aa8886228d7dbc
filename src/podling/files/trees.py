"""Walking, measuring and removing directory trees of any depth, with names of any length.

Neither recursion nor paths: a tree may be deeper than Python's stack, and its paths longer than the kernel
takes. Directories are reached by descriptors, one from the other, so no link leads out of the tree and only
a few are open at a time.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK_BYTES = 512
_BATCH = 10_000

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
"""FS_IOC_GETFLAGS and FS_IOC_SETFLAGS (``linux/fs.h``)."""
_PROTECTED = 0x10 | 0x20
"""FS_IMMUTABLE_FL and FS_APPEND_FL."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Action(Protocol[T_co]):
    def __call__(self, name: str, /, *, dir_fd: int) -> T_co: ...


@dataclass(slots=True)
class _Level:
    """A directory on the way from the top to where the walk is."""

    name: str
    identity: tuple[int, int]
    waiting: list[str] = field(default_factory=list)


def walk(path: Path) -> Iterator[tuple[int, str, os.stat_result]]:
    """Yield everything below the directory ``path``: the open directory, the name in it, and its status.

    Other file systems that are mounted inside are named but not entered. What vanishes meanwhile is passed
    over; if the tree is rearranged meanwhile, something may be. Raises ``OSError`` only for ``path`` itself.
    """
    top = os.open(path, _DIRECTORY)
    here = os.dup(top)
    levels = [_Level("", _identity(top))]
    try:
        while True:
            with os.scandir(here) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == levels[0].identity[0]:
                        levels[-1].waiting.append(entry.name)
                    yield here, entry.name, status
            while (below := _next_directory(here, levels[-1])) is None:
                if len(levels) == 1:
                    return
                above = _climbed(top, here, levels)
                os.close(here)
                here = above
            name, descriptor = below
            os.close(here)
            here = descriptor
            levels.append(_Level(name, _identity(here)))
    finally:
        os.close(here)
        os.close(top)


def _next_directory(here: int, level: _Level) -> tuple[str, int] | None:
    """Return the next directory in ``here`` that can be opened, with its name."""
    while level.waiting:
        name = level.waiting.pop()
        with suppress(OSError):
            return name, os.open(name, _DIRECTORY, dir_fd=here)
    return None


def _climbed(top: int, here: int, levels: list[_Level]) -> int:
    """Return the directory above ``here``, which leaves ``levels``.

    If it is another one by now, the way is gone again from the top, as far as it is still there.
    """
    levels.pop()
    with suppress(OSError):
        above = os.open("..", _DIRECTORY, dir_fd=here)
        if _identity(above) == levels[-1].identity:
            return above
        os.close(above)
    above = os.dup(top)
    for depth, level in enumerate(levels[1:], start=1):
        try:
            below = os.open(level.name, _DIRECTORY, dir_fd=above)
        except OSError:
            del levels[depth:]
            break
        os.close(above)
        above = below
        level.identity = _identity(above)
    return above


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


class TreeSize(NamedTuple):
    """The use of a disk: bytes, and inodes."""

    bytes: int = 0
    inodes: int = 0


def sizes(path: Path) -> Iterator[TreeSize]:
    """Yield the use of the disk below ``path`` as counted so far, the whole of it last.

    A file of several names counts in parts, one for each of them.
    """
    size, inodes = 0.0, 0.0
    try:
        for number, (_, _, status) in enumerate(walk(path)):
            links = 1 if stat.S_ISDIR(status.st_mode) else max(status.st_nlink, 1)
            size += status.st_blocks * _BLOCK_BYTES / links
            inodes += 1 / links
            if number % _BATCH == _BATCH - 1:
                yield TreeSize(int(size), round(inodes))
    except (FileNotFoundError, NotADirectoryError):
        pass
    yield TreeSize(int(size), round(inodes))


def tree_size(path: Path) -> int:
    """Return the bytes on disk below ``path``; nothing there is nothing used. Raises ``OSError``."""
    *_, size = sizes(path)
    return size.bytes


class TreeMeter:
    """Measures one tree again and again, in bounded time: a large tree takes several calls.

    Until it has been counted whole once more, the larger of the last result and the present count holds.
    """

    def __init__(self, path: Path, entries_per_call: int = 20 * _BATCH) -> None:
        self._path = path
        self._batches = max(1, entries_per_call // _BATCH)
        self._whole = TreeSize()
        self._so_far = TreeSize()
        self._counting: Iterator[TreeSize] | None = None
        self._at_work = threading.Lock()

    def measure(self) -> TreeSize:
        """Count on and return the use of the disk.

        Raises ``OSError``, also while another thread measures, which a file system may hold up for long.
        """
        if not self._at_work.acquire(blocking=False):
            raise BlockingIOError(errno.EAGAIN, "is being measured already", str(self._path))
        try:
            return self._measure()
        finally:
            self._at_work.release()

    def _measure(self) -> TreeSize:
        counting = self._counting or sizes(self._path)
        for _ in range(self._batches):
            size = next(counting, None)
            if size is None:
                self._whole, self._so_far, self._counting = self._so_far, TreeSize(), None
                return self._whole
            self._so_far = size
        self._counting = counting
        return TreeSize(
            max(self._whole.bytes, self._so_far.bytes), max(self._whole.inodes, self._so_far.inodes)
        )


def remove_tree(path: Path) -> None:
    """Delete the directory ``path`` with everything below; nothing there is fine.

    All that can be removed is removed, then the first ``OSError`` is raised: ``EBUSY`` where something is
    mounted inside, which is never entered.
    """
    try:
        top = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return
    except PermissionError:
        os.chmod(path, 0o700)
        top = os.open(path, _DIRECTORY)
    try:
        _Removal(top).clear()
    finally:
        os.close(top)
    with suppress(FileNotFoundError):
        os.rmdir(path)


class _Removal:
    """Empties a tree by moving every directory up to the top before its content is removed.

    So nothing is ever deep. A directory on which something is mounted cannot be moved, which is how it is
    found before anything in it is touched.
    """

    def __init__(self, top: int) -> None:
        self._top = top
        self._moved = 0
        self._failure: OSError | None = None

    def clear(self) -> None:
        """Remove everything below the top. Raises the first ``OSError`` in the end."""
        staying: set[str] = set()
        while batch := _batch(self._top, staying):
            for name, is_directory in batch:
                if not is_directory:
                    self._attempt(os.unlink, self._top, name, staying)
                elif (moved := self._attempt(self._move_up, self._top, name, staying)) is not None:
                    self._dissolve(moved, staying)
        if self._failure is not None:
            raise self._failure

    def _dissolve(self, moved: str, staying_at_top: set[str]) -> None:
        """Remove the directory ``moved`` of the top; the directories in it come to the top instead."""
        directory = self._attempt(_open_directory, self._top, moved, staying_at_top)
        if directory is None:
            return
        staying: set[str] = set()
        try:
            while batch := _batch(directory, staying):
                for name, is_directory in batch:
                    remove = self._move_up if is_directory else os.unlink
                    self._attempt(remove, directory, name, staying)
        finally:
            os.close(directory)
        self._attempt(os.rmdir, self._top, moved, staying_at_top)

    def _attempt(self, action: _Action[T], directory: int, name: str, staying: set[str]) -> T | None:
        """Do ``action`` to ``name``, a second time if its permissions or flags forbade it."""
        try:
            try:
                return action(name, dir_fd=directory)
            except PermissionError:
                _unprotect(directory, name)
                return action(name, dir_fd=directory)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._failure = self._failure or error
            staying.add(name)
            return None

    def _move_up(self, name: str, *, dir_fd: int) -> str:
        while True:
            self._moved += 1
            target = f".removed-{self._moved}"
            try:
                os.rename(name, target, src_dir_fd=dir_fd, dst_dir_fd=self._top)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
            else:
                return target


def _batch(directory: int, without: set[str]) -> list[tuple[str, bool]]:
    """Some of the names in a directory, and which of them are directories."""
    with os.scandir(directory) as entries:
        wanted = (entry for entry in entries if entry.name not in without)
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(wanted, _BATCH)]


def _open_directory(name: str, *, dir_fd: int) -> int:
    return os.open(name, _DIRECTORY, dir_fd=dir_fd)


def _unprotect(directory: int, name: str) -> None:
    """Take away what keeps ``name`` in ``directory``: modes for all but root, and the flags that hold even
    for root."""
    _clear_flags(directory)
    with suppress(OSError):
        os.chmod(directory, 0o700)
    with suppress(OSError):
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            kind = os.fstat(found).st_mode
            if stat.S_ISDIR(kind) or stat.S_ISREG(kind):
                _clear_flags_of(f"/proc/self/fd/{found}")
            if stat.S_ISDIR(kind):
                os.chmod(f"/proc/self/fd/{found}", 0o700)
        finally:
            os.close(found)


def _clear_flags_of(path: str) -> None:
    with suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _clear_flags(opened)
        finally:
            os.close(opened)


def _clear_flags(descriptor: int) -> None:
    with suppress(OSError):
        flags = array.array("l", [0])
        fcntl.ioctl(descriptor, _GET_FLAGS, flags)
        if flags[0] & _PROTECTED:
            flags[0] &= ~_PROTECTED
            fcntl.ioctl(descriptor, _SET_FLAGS, flags)
