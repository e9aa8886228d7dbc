"""Mounts that would cover a container's ``/proc``, which hold its masked and read-only paths.

runc refuses them; crun does not. Upstream: ``checkProcMount`` in ``runc/libcontainer/rootfs_linux.go``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from podling.runtime.base import Mount, RuntimeFailure
from podling.runtime.oci import linux

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


def check_mounts_over_proc(mounts: Iterable[Mount], rootfs: Path) -> None:
    """Raise ``RuntimeFailure`` for a mount on ``/proc`` that is not of type proc, or on a path inside."""
    for mount in mounts:
        target = resolved(mount.container_path, rootfs)
        if target in ALLOWED:
            continue
        if target == PROC and not _is_proc(mount.host_path):
            raise RuntimeFailure(f'"{mount.container_path}" cannot be mounted because it is not of type proc')
        if PROC in target.parents:
            raise RuntimeFailure(f'"{mount.container_path}" cannot be mounted because it is inside /proc')


def resolved(container_path: str, rootfs: Path) -> PurePosixPath:
    """Return the path that a mount target leads to by the links of the image."""
    parts = [part for part in container_path.split("/") if part not in ("", ".")]
    for there in range(len(parts), -1, -1):
        with suppress(OSError):
            place = _place("/".join(parts[:there]), rootfs)
            return PurePosixPath(os.path.normpath(place.joinpath(*parts[there:])))
    return PurePosixPath("/")


def _place(path: str, rootfs: Path) -> PurePosixPath:
    """Return where an existing path lies in the image. Raises ``OSError``."""
    descriptor = linux.open_in_root(rootfs, path, os.O_PATH)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return PurePosixPath("/") / Path(found).relative_to(os.path.realpath(rootfs))


def _is_proc(host_path: str) -> bool:
    """Return whether the directory is the root of the node's proc file system."""
    try:
        return os.path.samefile(host_path, "/proc")
    except OSError:
        return False
