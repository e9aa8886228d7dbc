"""User namespaces, and mounts whose owners they map.

A user namespace maps the IDs of a pod's users to IDs of the node; a mount that is mapped by it (Linux 5.12;
a memory file system: 6.3) shows files of the node's user 1000 to the pod as its own user 1000, and stores
the files that the pod writes in the same way. So volumes need no change of their owners.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podling.runtime.base import IdRange, MountPropagation, RuntimeFailure
from podling.runtime.oci import linux

_PROPAGATION = {
    MountPropagation.NONE: linux.MS_PRIVATE,
    MountPropagation.HOST_TO_CONTAINER: linux.MS_SLAVE,
}


def id_map(users: IdRange) -> str:
    """Return the content of ``uid_map`` and ``gid_map`` for a pod's users."""
    return f"0 {users.first} {users.count}\n"


@contextmanager
def new_namespaces(map_: str, flags: int = 0) -> Iterator[Path]:
    """Hold a new user namespace with ``map_`` for users and groups, and others (``flags``) that it owns.

    Yields a directory with a file for each namespace, as in ``/proc/PID/ns``. Raises ``OSError``.
    """
    holder = linux.cloned_sleeper(linux.CLONE_NEWUSER | flags)
    try:
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{holder}/{name}").write_text(map_)
        yield Path(f"/proc/{holder}/ns")
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)


@contextmanager
def user_namespace(map_: str) -> Iterator[int]:
    """Hold a descriptor of a new user namespace with ``map_``. Raises ``OSError``."""
    with new_namespaces(map_) as places:
        descriptor = os.open(places / "user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def mount_unowned(source: str | Path, target: str | Path, namespace: int) -> None:
    """Bind ``source`` with all mounts below it at ``target``, read-only, its owners mapped by ``namespace``.

    Raises ``OSError``: ``EINVAL`` for a file system that has no ID-mapped mounts.
    """
    wanted = linux.MOUNT_ATTR_RDONLY | linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NODEV
    about = os.fspath(target)
    tree = linux.open_tree(source, about)
    try:
        linux.set_mount_attributes(
            tree,
            wanted | linux.MOUNT_ATTR_IDMAP,
            about,
            propagation=linux.MS_PRIVATE,
            user_namespace=namespace,
            below=True,
        )
        linux.move_mount(tree, target)
    finally:
        os.close(tree)


@contextmanager
def mapped_tree(
    source: str | Path, namespace: int, propagation: MountPropagation = MountPropagation.NONE
) -> Iterator[int]:
    """Hold a descriptor of a copy of the mount at ``source``, its owners mapped by ``namespace``.

    Mounts below it keep their owners, as with the OCI runtimes. Raises ``RuntimeFailure``.
    """
    about = os.fspath(source)
    if propagation not in _PROPAGATION:
        text = f"mount propagation {propagation.value} is not possible with a user namespace: {about}"
        raise RuntimeFailure(text)
    try:
        tree = linux.open_tree(source, about)
    except OSError as error:
        raise RuntimeFailure(f"{about} cannot be mounted: {error.strerror}") from error
    try:
        # Before anything else: the end of a copy that shares its mounts would end those of the node, too.
        linux.set_mount_attributes(tree, 0, about, propagation=_PROPAGATION[propagation], below=True)
        linux.set_mount_attributes(tree, linux.MOUNT_ATTR_IDMAP, about, user_namespace=namespace)
        yield tree
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EPERM) or error.filename != about:
            raise
        text = f"failed to set MOUNT_ATTR_IDMAP on {about}: {(error.strerror or '').lower()}"
        hint = "maybe the filesystem used doesn't support idmap mounts on this kernel?"
        raise RuntimeFailure(f"{text} ({hint})") from error
    finally:
        os.close(tree)


def bind_mapped(
    source: str | Path, place: Path, namespace: int, propagation: MountPropagation = MountPropagation.NONE
) -> None:
    """Bind ``source`` at ``place``, which is created, with its owners mapped by ``namespace``.

    Raises ``RuntimeFailure`` and ``OSError``.
    """
    place.parent.mkdir(exist_ok=True, mode=0o700)
    with mapped_tree(source, namespace, propagation) as tree:
        if os.path.isdir(f"/proc/self/fd/{tree}"):
            place.mkdir()
        else:
            place.touch()
        linux.move_mount(tree, place)


def lack(trial: Path) -> str:
    """Return why this machine cannot give pods users of their own; empty if it can.

    Tries what every such pod needs: the namespaces, a mapped directory on the disk of ``trial`` and a mapped
    memory file system. ``trial`` is a directory for the trial's own use.
    """
    flags = linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS
    memory = trial / "memory"
    try:
        memory.mkdir(parents=True, exist_ok=True)
        linux.mount("tmpfs", memory, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=64k")
        try:
            with new_namespaces(id_map(IdRange(first=65536)), flags) as places:
                namespace = os.open(places / "user", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    for source in (trial, memory):
                        with mapped_tree(source, namespace):
                            pass
                finally:
                    os.close(namespace)
        finally:
            linux.unmount(memory)
    except (OSError, RuntimeFailure) as error:
        return str(error)
    return ""
