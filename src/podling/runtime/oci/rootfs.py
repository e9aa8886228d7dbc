"""A container's root file system: the image's layers and one writable directory, joined by overlayfs.

Mounted by one system call. The layers are given by their paths, or by open descriptors where the paths
are too long for the one page of options that mount(2) takes or hold characters it gives a meaning.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from podling.runtime.oci import linux
from podling.runtime.oci.mounts import parse_mountinfo

_OPTIONS_MAX = 3800


def mount_rootfs(layers: Sequence[Path], writable: Path, target: Path) -> None:
    """Join ``layers`` (lowest first) under ``writable`` at ``target``; all directories are made."""
    upper, work = writable / "upper", writable / "work"
    for directory in (upper, work, target):
        directory.mkdir(parents=True, exist_ok=True)
    places = [*reversed(layers), upper, work]
    with ExitStack() as stack:
        names = [os.fspath(place) for place in places]
        if sum(map(len, names)) > _OPTIONS_MAX or any(set(name) & set(":,\\") for name in names):
            names = [f"/proc/thread-self/fd/{_opened(place, stack)}" for place in places]
        options = f"lowerdir={':'.join(names[:-2])},upperdir={names[-2]},workdir={names[-1]}"
        linux.mount("overlay", target, "overlay", 0, options)


def mount_image(layers: Sequence[Path], empty: Path, target: Path) -> None:
    """Join ``layers`` (lowest first) at ``target``, read-only. overlayfs wants two layers at least, so
    ``empty``, a directory without anything in it, is one."""
    for directory in (empty, target):
        directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        places = [*reversed(layers), empty]
        names = [f"/proc/thread-self/fd/{_opened(place, stack)}" for place in places]
        linux.mount("overlay", target, "overlay", linux.MS_RDONLY, f"lowerdir={':'.join(names)}")


def _opened(place: Path, stack: ExitStack) -> int:
    descriptor = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def unmount_all(target: Path) -> None:
    """Undo every mount stacked at ``target``; succeeds where there is none."""
    while True:
        try:
            linux.unmount(target)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return
            raise


def unmount_everything_under(path: Path) -> None:
    """Undo every mount below ``path``, innermost first: the last step of taking a cluster down."""
    prefix = f"{path}/"
    points = parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    for point in reversed(points):
        if point.path.startswith(prefix):
            unmount_all(Path(point.path))


def remove_tree(path: Path) -> None:
    """Delete a directory tree that holds no mounts any more; nothing is followed out of it."""
    with suppress(FileNotFoundError):
        shutil.rmtree(path)


def disk_usage(path: Path) -> int:
    """Bytes on disk below ``path``; what vanishes meanwhile does not count."""
    total = 0
    stack = [os.fspath(path)]
    while stack:
        try:
            entries = list(os.scandir(stack.pop()))
        except OSError:
            continue
        for entry in entries:
            with suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
    return total
