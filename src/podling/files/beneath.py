"""Opening what lies below a directory, although others change what lies there.

A path is a promise about several directories, and each of them may be exchanged for a link between two
system calls. A descriptor stays what it is. So the kernel resolves the path once, as a proposal; what it
found is opened again component by component, following no link, and only that descriptor is used
(``pkg/volume/util/subpath/subpath_linux.go``; CVE-2017-1002101, CVE-2021-25741).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_beneath(root: Path, part: str) -> Iterator[int]:
    """Open what ``part`` leads to below ``root``, as an ``O_PATH`` descriptor of anything but a link.

    Links on the way are followed as long as they end inside of ``root``. Raises ``OSError``; ``EXDEV`` for
    a path that leaves ``root``.
    """
    with _opened(os.open(root, os.O_PATH | os.O_CLOEXEC)) as top:
        found = _without_links(top, _components(top, part))
        with _opened(found):
            yield found


def make_directory_beneath(root: Path, part: str) -> None:
    """Make the directory ``part`` below ``root``, and those that lead to it, where nothing is there yet.

    The directory gets ``root``'s permissions, set-group-ID included. Raises ``OSError``.
    """
    with _opened(os.open(root, os.O_PATH | os.O_CLOEXEC)) as top:
        here, missing = _deepest(top, part)
        if not missing:
            return
        mode = stat.S_IMODE(os.fstat(top).st_mode)
        parent = _without_links(top, here)
        for name in missing:
            with _opened(parent):
                with suppress(FileExistsError):  # another container of the pod was faster
                    os.mkdir(name, mode, dir_fd=parent)
                parent = os.open(name, _STEP | os.O_DIRECTORY, dir_fd=parent)
        with _opened(parent):
            os.chmod(f"/proc/self/fd/{parent}", mode)


def path_of(descriptor: int) -> str:
    """Return the path of what is open. It may be another's by the time that it is used."""
    return os.readlink(f"/proc/self/fd/{descriptor}")


@contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _components(top: int, part: str) -> list[str]:
    """Return the names that lead from ``top`` to what the kernel finds at ``part``, without any link."""
    if "\0" in part:
        raise OSError(errno.EINVAL, "the path holds a NUL", part)
    with _opened(os.open(part or ".", os.O_PATH | os.O_CLOEXEC, dir_fd=top)) as proposal:
        found, root = path_of(proposal), path_of(top)
    if found == root:
        return []
    if not found.startswith(root.rstrip("/") + "/"):
        raise OSError(errno.EXDEV, "the path leaves its directory", part)
    return found[len(root.rstrip("/")) + 1 :].split("/")


def _without_links(top: int, names: Sequence[str]) -> int:
    """Return a descriptor of what ``names`` lead to from ``top``. Raises ``ELOOP`` for a link among them."""
    here = os.dup(top)
    for position, name in enumerate(names):
        with _opened(here):
            flags = _STEP if position == len(names) - 1 else _STEP | os.O_DIRECTORY
            here = os.open(name, flags, dir_fd=here)
    if stat.S_ISLNK(os.fstat(here).st_mode):
        os.close(here)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), "/".join(names))
    return here


def _deepest(top: int, part: str) -> tuple[list[str], list[str]]:
    """Return the existing part of ``part`` as real names, and the names that are missing below it."""
    names = [name for name in part.split("/") if name not in ("", ".")]
    if ".." in names:
        raise OSError(errno.EXDEV, "the path leaves its directory", part)
    for there in range(len(names), -1, -1):
        with suppress(FileNotFoundError):
            return _components(top, "/".join(names[:there])), names[there:]
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), part)
