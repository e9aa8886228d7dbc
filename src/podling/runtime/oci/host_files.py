"""The machine's directories in the built-in image, without files that not all users may read.

A container's root user is the node's, so a plain mount of ``/usr`` would show it files that only root may
read. The directories are therefore mounted once, at places of the runtime's own, from which containers get
them, in one of two ways:

* with no owner: an ID-mapped mount (Linux 5.12) that maps none of the files' owners. A reader is neither
  owner nor privileged, so the permissions for others decide, today's and later ones; no program changes
  its user, either.
* where a file system has no such mounts: every file that others may not read is covered, as found when the
  node
  starts.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from podling.files.beneath import path_of
from podling.files.trees import remove_tree, walk
from podling.runtime.failures import RuntimeFailure
from podling.runtime.oci import linux
from podling.runtime.oci.mounting import id_maps
from podling.runtime.oci.rootfs import unmount_everything_under

logger = logging.getLogger(__name__)

_UNUSED_ID = (1 << 32) - 2
"""The last one there is; a map may not be empty."""


def place_of(state: Path, path: str) -> Path:
    """Return the mount point of the machine's directory ``path`` for containers."""
    return state / "host-files" / path.lstrip("/")


def share(state: Path, paths: Sequence[str]) -> None:
    """Mount each of the machine's directories ``paths`` at its place below ``state``, read-only.

    What an earlier run mounted there is replaced; containers keep what they have. Raises ``RuntimeFailure``.
    """
    top = state / "host-files"
    try:
        unmount_everything_under(top)
        remove_tree(top)
        for path in paths:
            place_of(state, path).mkdir(parents=True, exist_ok=True)
        os.chmod(top, 0o711)
        try:
            with id_maps.user_namespace(f"{_UNUSED_ID} {_UNUSED_ID} 1\n") as namespace:
                for path in paths:
                    id_maps.mount_unowned(path, place_of(state, path), namespace)
        except OSError as error:
            logger.info("ID-mapped mounts of %s cannot be had here: %s", ", ".join(paths), error)
            unmount_everything_under(top)
            for path in paths:
                share_covered(path, place_of(state, path), state / "covers")
    except OSError as error:
        raise RuntimeFailure(f"the machine's programs cannot be shown to containers: {error}") from error


def withdraw(state: Path) -> None:
    """Unmount what ``share`` mounted; containers keep what they have."""
    unmount_everything_under(state / "host-files")


def share_covered(path: str, place: Path, covers: Path) -> None:
    """Bind the directory ``path`` at ``place``, and cover what others may not read with nothing.

    ``covers`` is where the two covers are made: an empty file and an empty directory. Raises ``OSError``.
    """
    covers.mkdir(exist_ok=True, mode=0o700)
    directory, file = covers / "directory", covers / "file"
    directory.mkdir(exist_ok=True, mode=0)
    file.touch(0)
    linux.mount(path, place, flags=linux.MS_BIND | linux.MS_REC)
    linux.mount("none", place, flags=linux.MS_REC | linux.MS_PRIVATE)
    for private, is_directory in private_paths(place):
        with suppress(FileNotFoundError):  # what lies in a covered directory is covered
            linux.mount(str(directory if is_directory else file), private, flags=linux.MS_BIND)


def private_paths(top: Path) -> list[tuple[str, bool]]:
    """Return the paths below ``top`` that others may not read, parents first, and whether each is a
    directory.

    Only directories and regular files count: a link is what it leads to.
    """
    found = []
    for directory, name, status in walk(top):
        is_directory = stat.S_ISDIR(status.st_mode)
        if not is_directory and not stat.S_ISREG(status.st_mode):
            continue
        needed = stat.S_IROTH | stat.S_IXOTH if is_directory else stat.S_IROTH
        if status.st_mode & needed != needed:
            found.append((f"{path_of(directory)}/{name}", is_directory))
    return sorted(found)
