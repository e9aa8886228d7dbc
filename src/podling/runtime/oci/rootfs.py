"""A container's root file system: the image's layers and one writable directory, joined by overlayfs.

Mounted by one system call. The layers are given by their paths, or by open descriptors where the paths
are too long for the one page of options that mount(2) takes or hold characters it gives a meaning.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct

from podling.files.beneath import opened_beneath
from podling.files.trees import remove_tree
from podling.runtime.base import IdRange
from podling.runtime.oci import linux
from podling.runtime.oci.mounting.id_maps import mapped_tree
from podling.runtime.oci.mounts import parse_mountinfo

_OPTIONS_MAX = 3800


class Owners(Struct, frozen=True):
    """The users of a pod with a user namespace: a descriptor of it, and the node's IDs."""

    namespace: int
    users: IdRange


def mount_rootfs(layers: Sequence[Path], writable: Path, target: Path, owners: Owners | None = None) -> None:
    """Join ``layers`` (lowest first) under ``writable`` at ``target``; all directories are made.

    ``owners``: the layers' files belong to these users, and so does what is written.
    """
    upper, work = writable / "upper", writable / "work"
    for directory in (upper, work, target):
        directory.mkdir(parents=True, exist_ok=True)
    places = [*reversed(layers), upper, work]
    with ExitStack() as stack:
        if owners is not None:
            os.chown(upper, owners.users.first, owners.users.first)
            places[:-2] = _mapped(places[:-2], owners, stack)
        names = [os.fspath(place) for place in places]
        if sum(map(len, names)) > _OPTIONS_MAX or any(set(name) & set(":,\\") for name in names):
            names = [f"/proc/thread-self/fd/{_opened(place, stack)}" for place in places]
        options = f"lowerdir={':'.join(names[:-2])},upperdir={names[-2]},workdir={names[-1]}"
        linux.mount("overlay", target, "overlay", 0, options)


def mount_image(layers: Sequence[Path], empty: Path, target: Path, owners: Owners | None = None) -> None:
    """Join ``layers`` (lowest first) at ``target``, read-only, with ``owners`` as for a root file system.

    overlayfs wants two layers at least, so ``empty``, a directory without anything in it, is one.
    """
    for directory in (empty, target):
        directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        places = [*reversed(layers), empty]
        if owners is not None:
            places = _mapped(places, owners, stack)
        names = [f"/proc/thread-self/fd/{_opened(place, stack)}" for place in places]
        linux.mount("overlay", target, "overlay", linux.MS_RDONLY, f"lowerdir={':'.join(names)}")


def _mapped(places: Sequence[Path], owners: Owners, stack: ExitStack) -> list[Path]:
    """Return paths of copies of the mounts at ``places`` whose files belong to ``owners``."""
    trees = [stack.enter_context(mapped_tree(place, owners.namespace)) for place in places]
    return [Path(f"/proc/thread-self/fd/{tree}") for tree in trees]


def sub_path_places(bundle: Path) -> Path:
    """Return the directory where the parts of volumes for a container are bound until it has started."""
    return bundle / "sub-paths"


def mapped_places(bundle: Path) -> Path:
    """Return the directory where mapped sources of binds are mounted until the container has started."""
    return bundle / "mapped"


def mount_beneath(volume: Path, part: str, place: Path) -> None:
    """Bind the target of ``part`` in ``volume`` at ``place``, which is created: a directory or a file.

    The open descriptor is bound, so a container that changes the path meanwhile cannot bind anything outside
    of the volume. Raises ``OSError``.
    """
    place.parent.mkdir(exist_ok=True, mode=0o700)
    with opened_beneath(volume, part) as found:
        if stat.S_ISDIR(os.fstat(found).st_mode):
            place.mkdir()
        else:
            place.touch()
        linux.mount(f"/proc/self/fd/{found}", place, flags=linux.MS_BIND)


def unmount_sources(bundle: Path) -> None:
    """Take the sources of binds off again; a container that has started keeps its own mounts."""
    for places in (mapped_places(bundle), sub_path_places(bundle)):
        with suppress(FileNotFoundError):
            for place in list(places.iterdir()):
                unmount_all(place)
        remove_tree(places)


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
