"""Small file systems of a test's own that can be filled and write-protected while they are in use.

Needs root, ``mkfs.ext4`` and a loop device for each.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from podling import clock
from tests.support.disks import fill

_GET_FLAGS = 0x80086601
_SET_FLAGS = 0x40086602
_IMMUTABLE = 0x10
_EMPTY = 1 << 20
"""A file system with less than this free is full."""
UNMOUNT_SECONDS = 10.0


def missing() -> str:
    """Return why such file systems cannot be made here; empty when they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return "needs mkfs.ext4"
    return "" if Path("/dev/loop-control").exists() else "needs loop devices"


class SmallDisk:
    """An ext4 file system in the file ``image``, mounted at ``point``."""

    def __init__(self, image: Path, point: Path, size_bytes: int) -> None:
        self.point = point
        with image.open("wb") as file:
            file.truncate(size_bytes)
        run("mkfs.ext4", "-q", "-m", "0", str(image))
        point.mkdir(parents=True, exist_ok=True)
        run("mount", "-o", "loop", str(image), str(point))
        self._read_only = False
        self._immutable: list[Path] = []

    def fill(self) -> None:
        """Use every block."""
        with (self.point / "ballast").open("wb") as file:
            found = os.statvfs(self.point)
            free = found.f_bavail * found.f_frsize
            if free > _EMPTY:
                os.posix_fallocate(file.fileno(), 0, free - _EMPTY)
        (self.point / "ballast").rename(self.point / "ballast.1")
        fill(self.point)

    def empty(self) -> None:
        """Free the blocks that ``fill`` used."""
        for name in ("ballast", "ballast.1"):
            (self.point / name).unlink(missing_ok=True)

    def write_protect(self) -> None:
        """Refuse writes: remount read-only, or make every file immutable where some are open for writing."""
        done = subprocess.run(
            ["mount", "-o", "remount,ro", str(self.point)], capture_output=True, check=False
        )
        self._read_only = done.returncode == 0
        if not self._read_only:
            device = self.point.stat().st_dev
            self._immutable = [path for path in _files(self.point, device) if _set_immutable(path, True)]

    def allow_writes(self) -> None:
        """Undo ``write_protect``."""
        if self._read_only:
            run("mount", "-o", "remount,rw", str(self.point))
            self._read_only = False
        for path in self._immutable:
            _set_immutable(path, False)
        self._immutable = []

    def unmount(self) -> None:
        """Unmount it, once what was started on it has ended."""
        self.allow_writes()
        deadline = clock.monotonic() + UNMOUNT_SECONDS
        while subprocess.run(["umount", str(self.point)], capture_output=True, check=False).returncode:
            assert clock.monotonic() < deadline, f"{self.point} stays in use"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _files(folder: Path, device: int) -> Iterator[Path]:
    """Return every regular file and directory below, and ``folder`` itself, on one file system."""
    yield folder
    for entry in os.scandir(folder):
        if entry.is_symlink() or entry.stat(follow_symlinks=False).st_dev != device:
            continue
        if entry.is_dir():
            yield from _files(Path(entry.path), device)
        elif entry.is_file():
            yield Path(entry.path)


def _set_immutable(path: Path, on: bool) -> bool:
    """Set or clear the flag; return whether that changed it. A deleted file has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode) and not stat.S_ISDIR(mode):
            return False
        (flags,) = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8)))
        wanted = flags | _IMMUTABLE if on else flags & ~_IMMUTABLE
        if wanted != flags:
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("l", wanted))
        return bool(wanted != flags)
    except OSError as error:
        if error.errno == errno.ENOTTY:
            return False
        raise
    finally:
        os.close(descriptor)
