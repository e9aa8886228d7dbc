"""Publishes a set of files atomically: readers see all of the old ones or all of the new ones.

The files lie in a directory of their own, to which the symbolic link ``..data`` points; every name that
users see is a link through ``..data``. A change writes a new directory and replaces that one link,
which is atomic. Unchanged content is left alone (``pkg/volume/util/atomic_writer.go``). Unlike upstream's, a
file that does not change keeps its inode while others in the volume change.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from podling import clock, ids
from podling.files.trees import remove_tree, walk

PATH_BYTES_MAX = 4096
"""``maxPathLength`` of upstream's writer."""

DATA = "..data"
_NEW = "..data_tmp"


class FileProjection(Struct, frozen=True):
    """One file: its bytes and permission bits, and the user that owns it (None: the kubelet's)."""

    data: bytes
    mode: int = 0o644
    user: int | None = None


Payload = Mapping[str, FileProjection]
"""Files by their path relative to the volume."""


class InvalidPath(ValueError):
    """The path would leave the volume, or collide with the writer's own names."""


def check_path(path: str) -> None:
    """Raise ``InvalidPath`` for a path that a payload may not contain."""
    parts = Path(path).parts
    if not parts or Path(path).is_absolute() or ".." in parts or parts[0].startswith(".."):
        raise InvalidPath(f"invalid path: {path!r}")
    if "\0" in path:
        raise InvalidPath(f"invalid path: {path!r}: it holds a NUL")
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise InvalidPath(f"invalid path: must be less than or equal to {PATH_BYTES_MAX} characters")


def write_payload(directory: Path, payload: Payload, group: int | None = None) -> bool:
    """Publish ``payload`` in ``directory``; return False if it was there already.

    ``group`` owns the files and may read them (and enter directories).
    """
    for path in payload:
        check_path(path)
    current = _current(directory)
    if current is not None and _holds(current, payload, group):
        _link_names(directory, payload)
        return False
    stamp = clock.now().strftime("..%Y_%m_%d_%H_%M_%S.") + ids.hex_id(8)
    fresh = directory / stamp
    fresh.mkdir(mode=0o755)
    fresh.chmod(0o755)
    try:
        for path, file in payload.items():
            _write(fresh, path, file, group, current)
        if group is not None:
            _give_to_group(fresh, group)
    except BaseException:
        with suppress(OSError):
            remove_tree(fresh)
        raise
    link = directory / _NEW
    link.unlink(missing_ok=True)
    link.symlink_to(stamp)
    link.rename(directory / DATA)
    _link_names(directory, payload)
    if current is not None:
        with suppress(OSError):
            remove_tree(current)
    return True


def _current(directory: Path) -> Path | None:
    try:
        return directory / os.readlink(directory / DATA)
    except OSError:
        return None


def _holds(current: Path, payload: Payload, group: int | None) -> bool:
    """Return whether the published files are exactly these."""
    if sum(not stat.S_ISDIR(status.st_mode) for _, _, status in walk(current)) != len(
        {Path(path) for path in payload}
    ):
        return False
    return all(_is(current / path, file, group) for path, file in payload.items())


def _is(found: Path, file: FileProjection, group: int | None) -> bool:
    """Return whether a published file has this content and these rights."""
    try:
        status = found.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o777 != _mode(file, group) & 0o777:
        return False
    if group is not None and status.st_gid != group:
        return False
    if file.user is not None and status.st_uid != file.user:
        return False
    return status.st_size == len(file.data) and found.read_bytes() == file.data


def _mode(file: FileProjection, group: int | None) -> int:
    return file.mode if group is None else file.mode | 0o440


def _write(root: Path, path: str, file: FileProjection, group: int | None, current: Path | None) -> None:
    """Write one file; link the one that is published already if it is the same."""
    target = root / path
    here = root
    for part in Path(path).parts[:-1]:
        here = here / part
        here.mkdir(mode=0o755, exist_ok=True)
    if current is not None and _is(current / path, file, group):
        os.link(current / path, target)
        return
    target.write_bytes(file.data)
    if group is not None:
        os.chown(target, -1, group)
    if file.user is not None:
        os.chown(target, file.user, -1)
    target.chmod(_mode(file, group))


def _give_to_group(fresh: Path, group: int) -> None:
    for directory, name, status in walk(fresh):
        if stat.S_ISDIR(status.st_mode):
            os.chown(name, -1, group, dir_fd=directory)
            os.chmod(name, 0o2755, dir_fd=directory)
    os.chown(fresh, -1, group)
    fresh.chmod(0o2755)


def _link_names(directory: Path, payload: Payload) -> None:
    """Create a link for every first part of a path, and remove the links of removed files."""
    wanted = {Path(path).parts[0] for path in payload}
    for name in wanted:
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(f"{DATA}/{name}")
    for entry in directory.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in wanted:
            entry.unlink()
