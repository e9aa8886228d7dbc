"""A sandbox's namespaces: made by one short-lived thread, kept alive by bind mounts, no process inside.

A namespace lives as long as something refers to it. A thread unshares network, IPC and UTS at once,
binds each to a file, and ends; the files keep the namespaces. So a pod without running containers
costs no process, and the end of the node's own process does not affect it.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from podling.runtime.base import IdRange, NamespaceOptions, RuntimeFailure
from podling.runtime.oci import linux
from podling.runtime.oci.mounting import id_maps
from podling.runtime.oci.rootfs import unmount_all
from podling.runtime.sysctl_names import dots_between_parts, namespace_of

SHM_BYTES = 64 << 20
"""The size of a pod's ``/dev/shm``, as the CRI's implementations make it."""

_FLAGS = {"net": linux.CLONE_NEWNET, "ipc": linux.CLONE_NEWIPC, "uts": linux.CLONE_NEWUTS}
OCI_TYPES = {"user": "user", "net": "network", "ipc": "ipc", "uts": "uts", "pid": "pid"}


class Place(Struct, frozen=True):
    """The directory of a sandbox's pinned namespaces and shared files (under the runtime's state)."""

    root: Path

    def namespace(self, name: str) -> Path:
        return self.root / name

    @property
    def shm(self) -> Path:
        return self.root / "shm"


def own_namespaces(options: NamespaceOptions) -> list[str]:
    """The namespaces that a sandbox has of its own. With the node's network goes the node's host name."""
    shared = {"net": options.host_network, "uts": options.host_network, "ipc": options.host_ipc}
    users = ["user"] if options.users is not None else []
    return [*users, *(name for name, is_shared in shared.items() if not is_shared)]


def sysctl_path(name: str) -> str:
    """``net.ipv4.ip_forward`` as a path under /proc/sys; slashes may stand for dots inside a part."""
    if "/" in name and ("." not in name or name.index("/") < name.index(".")):
        return f"/proc/sys/{name}"
    return "/proc/sys/" + name.replace(".", "\0").replace("/", ".").replace("\0", "/")


def make_namespaces(
    place: Place, options: NamespaceOptions, hostname: str, domainname: str, sysctls: Mapping[str, str]
) -> None:
    """Make and pin a sandbox's namespaces; to be run in a thread of its own (it cannot go back).

    Raises ``OSError``, or ``RuntimeFailure`` for a sysctl that cannot be set.
    """
    place.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = own_namespaces(options)
    flags = 0
    for name in names:
        flags |= _FLAGS.get(name, 0)
    if options.users is not None:
        _enter_owned_namespaces(place, options.users, names, flags)
    elif flags:
        linux.unshare(flags)
    if "uts" in names:
        linux.set_hostname(hostname)
        if domainname:
            linux.set_domainname(domainname)
    for name, value in sysctls.items():
        _check_sysctl(name, names)
        _set_sysctl(name, value, options.users)
    if options.users is None:
        for name in names:
            pin(f"/proc/self/task/{threading.get_native_id()}/ns/{name}", place.namespace(name))
    if not options.host_ipc:
        place.shm.mkdir(exist_ok=True)
        flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
        root = options.users.first if options.users is not None else 0
        linux.mount("shm", place.shm, "tmpfs", flags, f"mode=1777,size={SHM_BYTES},uid={root},gid={root}")


def _enter_owned_namespaces(place: Place, users: IdRange, names: Sequence[str], flags: int) -> None:
    """Make and pin namespaces that a new user namespace owns, and enter those that are not about users.

    A thread cannot enter a user namespace; the node's root has all rights in the others without it.
    """
    with id_maps.new_namespaces(id_maps.id_map(users), flags) as places:
        for name in names:
            pin(str(places / name), place.namespace(name))
            if name == "user":
                continue
            descriptor = os.open(places / name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                linux.setns(descriptor, _FLAGS[name])
            finally:
                os.close(descriptor)


def _check_sysctl(name: str, own: Sequence[str]) -> None:
    """Raise ``RuntimeFailure`` for a setting of the machine, or of a namespace that the pod shares."""
    namespace = {"Net": "net", "IPC": "ipc"}.get(namespace_of(dots_between_parts(name)), "")
    if namespace not in own:
        raise RuntimeFailure(f'sysctl "{name}" is not in a separate kernel namespace')


def _set_sysctl(name: str, value: str, users: IdRange | None) -> None:
    try:
        try:
            _write(sysctl_path(name), value)
        except PermissionError:
            if users is None:
                raise
            # Settings of an IPC namespace belong to its root user alone.
            with linux.effective_user(users.first):
                _write(sysctl_path(name), value)
    except OSError as error:
        raise RuntimeFailure(f'cannot set sysctl "{name}" to "{value}": {error.strerror}') from error


def _write(path: str, value: str) -> None:
    with open(path, "w") as file:
        file.write(value)


def pin(source: str, target: Path) -> None:
    """Keep the namespace ``source`` alive by a bind mount at ``target``."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    linux.mount(source, target, flags=linux.MS_BIND)


def remove_place(place: Place) -> None:
    """Let go of the namespaces and delete the files; succeeds where there is nothing left."""
    for name in OCI_TYPES:
        target = place.namespace(name)
        if os.path.lexists(target):
            unmount_all(target)
            target.unlink(missing_ok=True)
    if place.shm.exists():
        unmount_all(place.shm)
        place.shm.rmdir()
    (place.root / "hostname").unlink(missing_ok=True)  # earlier versions kept it here
    try:
        place.root.rmdir()
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


def are_pinned(place: Place, names: Iterable[str]) -> bool:
    """Return whether a namespace is alive behind each of these files, not just the file it was bound to."""
    root = str(place.root)
    try:
        outside = os.stat(root).st_dev
        return all(os.stat(f"{root}/{name}").st_dev != outside for name in names)
    except OSError:
        return False


def joined_namespaces(place: Place, options: NamespaceOptions, init_pid: int) -> dict[str, str]:
    """Return the namespaces that the sandbox's containers join (``spec.Inputs.namespaces``)."""
    own = own_namespaces(options)
    joined = {OCI_TYPES[name]: str(place.namespace(name)) if name in own else "host" for name in _FLAGS}
    if options.host_pid:
        joined["pid"] = "host"
    elif init_pid:
        joined["pid"] = str(place.namespace("pid"))
    if options.users is not None:
        joined["user"] = str(place.namespace("user"))
    return joined
