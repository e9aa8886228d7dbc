"""Mounts that would cover a container's ``/proc``, which hold its masked and read-only paths.

runc refuses them; crun does not. Upstream: ``checkProcMount`` in ``runc/libcontainer/rootfs_linux.go``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from podling.runtime.base import Mount, RuntimeFailure
from podling.runtime.oci import linux
from podling.runtime.oci.mounts import MountPoint, parse_mountinfo

PROC = PurePosixPath("/proc")

ALLOWED = frozenset(
    PROC / name
    for name in (
        "cpuinfo",
        "diskstats",
        "meminfo",
        "stat",
        "swaps",
        "uptime",
        "loadavg",
        "slabinfo",
        "sys/kernel/ns_last_pid",
        "sys/crypto/fips_enabled",
    )
)
"""The files of ``/proc`` that programs such as lxcfs replace."""


_OWN_KINDS = ("proc", "autofs", "binfmt_misc")
"""File systems of the kernel that lie below the machine's ``/proc``."""


def check_mounts_over_proc(mounts: Iterable[Mount], rootfs: Path) -> None:
    """Raise ``RuntimeFailure`` for a mount on ``/proc`` that is not of type proc, or on a path inside."""
    root = os.path.realpath(rootfs)
    for mount in mounts:
        target = resolved(mount.container_path, root)
        if target in ALLOWED:
            continue
        if target == PROC and not _is_proc(mount.host_path):
            raise RuntimeFailure(f'"{mount.container_path}" cannot be mounted because it is not of type proc')
        if PROC in target.parents:
            raise RuntimeFailure(f'"{mount.container_path}" cannot be mounted because it is inside /proc')


def mounts_on_proc(table: str) -> list[MountPoint]:
    """Return the mounts on ``/proc`` and below in the text of a container's mountinfo.

    Other lines are not parsed: a container with many volumes has many.
    """
    lines = [line for line in table.splitlines() if " /proc" in line]
    return [point for point in parse_mountinfo("\n".join(lines)) if point.path.startswith("/proc")]


def check_made_mounts(points: Iterable[MountPoint], masked: Collection[str]) -> None:
    """Raise ``RuntimeFailure`` if something covers ``/proc`` in a container whose process waits to start.

    A volume may hold links, which change while the container is made, so where its mounts ended up is known
    only now. ``masked`` are the paths that the OCI runtime covers itself.
    """
    for point in points:
        target = PurePosixPath(point.path)
        if target == PROC and point.kind != "proc":
            raise RuntimeFailure('"/proc" cannot be mounted because it is not of type proc')
        inside = PROC in target.parents and target not in ALLOWED and point.path not in masked
        if inside and point.kind not in _OWN_KINDS:
            raise RuntimeFailure(f'"{point.path}" cannot be mounted because it is inside /proc')


def resolved(container_path: str, root: str) -> PurePosixPath:
    """Return the path that a mount target leads to by the links of the image. ``root`` holds no links."""
    parts = [part for part in container_path.split("/") if part not in ("", ".")]
    for there in range(len(parts), -1, -1):
        with suppress(OSError):
            place = _place("/".join(parts[:there]), root)
            return PurePosixPath(os.path.normpath("/".join((place, *parts[there:])) or "/"))
    return PurePosixPath("/")


def _place(path: str, root: str) -> str:
    """Return where an existing path lies in the image, empty for its root. Raises ``OSError``."""
    descriptor = linux.open_in_root(root, path, os.O_PATH)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    if found != root and not found.startswith(f"{root}/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return found[len(root) :]


def _is_proc(host_path: str) -> bool:
    """Return whether the directory is the root of the node's proc file system."""
    try:
        return os.path.samefile(host_path, "/proc")
    except OSError:
        return False
